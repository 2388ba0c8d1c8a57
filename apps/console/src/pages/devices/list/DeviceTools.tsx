import type { ActionInput } from '@muster/actions/client'
import { PROBLEMS_FIRST } from '@muster/predicates'
import { ArrowDownWideNarrow, Bookmark, Columns3, ListFilterPlus } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useId, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { useShownFirst } from '../../../lib/app/use-shown-first.ts'
import { loadCode } from '../../../lib/load-code.ts'
import { ExportMenu } from '../../../ui/app/ExportMenu.tsx'
import { FilterBox } from '../../../ui/app/FilterBox.tsx'
import { MenuLine, MenuLink } from '../../../ui/app/Menu.tsx'
import { Button } from '../../../ui/Button.tsx'
import type { Where } from '../predicate/read-where.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import { viewsInput } from '../shared/views-input.ts'
import type { OpenedView } from '../views/opened-view.ts'
import { DEFAULT_SORT } from './all-devices-input.ts'
import type { ColumnView } from './column-view.ts'
import styles from './DeviceTools.module.css'

const ConditionPanel = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/ConditionPanel.tsx'))).ConditionPanel,
}))
const ConditionsLine = lazy(async () => ({
  default: (await loadCode(() => import('../predicate/ConditionsLine.tsx'))).ConditionsLine,
}))
const ViewTabs = lazy(async () => ({
  default: (await loadCode(() => import('../views/ViewTabs.tsx'))).ViewTabs,
}))
const ViewsPanel = lazy(async () => ({
  default: (await loadCode(() => import('../views/ViewsPanel.tsx'))).ViewsPanel,
}))
const PhoneMenu = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/PhoneMenu.tsx'))).PhoneMenu,
}))
const ColumnChooser = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/ColumnChooser.tsx'))).ColumnChooser,
}))

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

/** The panel that is open: columns, saved views, a new condition, or the condition at a place in the form. */
type OpenPanel = 'columns' | 'views' | 'condition' | { edited: string }

type DeviceToolsProps = {
  projectId: string
  search: DeviceSearch
  onText: (text: string) => void
  /** Conditions of the list; undefined without them. */
  where: Where | undefined
  /** Changes the search parameter `where`. `shown` are the properties that then get a column. */
  onWhere: (where: string | undefined, shown: readonly string[]) => void
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
  opened: OpenedView | undefined
  onOpen: (opened: OpenedView) => void
  view: ColumnView
  /** Paths of kept columns that are left out of `view`. */
  leftOut: readonly string[]
  onView: (view: ColumnView) => void
  sort: string
  onSort: (sort: string) => void
  /** Number of devices that match the filter, and number of all devices; `undefined` while they are counted. */
  total: number | undefined
  of: number | undefined
  /** Whether the hub could not count the matches. */
  isUncounted: boolean
  /** Input of the query for the list. */
  input: Omit<ActionInput<'projects_QueryDevices'>, 'cursor'>
  /** Called on a phone to show the checkboxes of the rows. */
  onSelecting: () => void
  /** Filters beside the conditions. */
  children: ReactNode
}

/**
 * Filter rows of the device list: text, number of matches, columns and export, which on phones are in the menu "…", and below them the
 * conditions. The open panel is a state of these rows, so that opening it does not render the list.
 */
export function DeviceTools({
  projectId,
  search,
  onText,
  where,
  onWhere,
  onSearch,
  opened,
  onOpen,
  view,
  leftOut,
  onView,
  sort,
  onSort,
  total,
  of,
  isUncounted,
  input,
  onSelecting,
  children,
}: DeviceToolsProps) {
  const [panel, setPanel] = useState<OpenPanel>()
  const [shownPanel, openPanel] = useShownFirst(panel, setPanel)
  const isNarrow = useIsNarrow()
  const id = useId()
  // Element below which the panel is placed: the condition that is being edited, else the button that opened the panel.
  const opener = () =>
    typeof panel === 'object'
      ? document.querySelector<HTMLElement>(`[data-condition="${panel.edited}"]`)
      : document.getElementById(`${id}-${panel}`)
  const [isText, setText] = useState(false)
  const views = useActionState('views_Query', viewsInput(projectId)).data?.views
  const hasTabs = views?.some(({ isInRow }) => isInRow)
  const lineShown = where || isText || (search.view && !opened?.isGone)
  useShortcut('f', 'Add a condition', () => setPanel('condition'))
  useShortcut('F', 'Conditions as text', () => setText(true))
  const { limit: _, ...whole } = input
  const exported = { ...whole, countTotal: false }
  return (
    <>
      <div className={`tools ${styles.search}`}>
        <FilterBox
          value={search.q ?? ''}
          onChange={onText}
          label="Filter devices"
          placeholder="Filter by name, id or address"
        />
        {isNarrow ? (
          <Suspense>
            <PhoneMenu
              sort={sort}
              onSort={onSort}
              onPanel={setPanel}
              onSelecting={onSelecting}
              exported={exported}
            />
          </Suspense>
        ) : (
          <>
            <Button
              id={`${id}-condition`}
              variant="ghost"
              icon={ListFilterPlus}
              aria-haspopup="dialog"
              aria-expanded={shownPanel === 'condition'}
              onClick={() => openPanel('condition')}
            >
              Add a condition
            </Button>
            <Button
              id={`${id}-views`}
              variant="ghost"
              icon={Bookmark}
              aria-haspopup="dialog"
              aria-expanded={shownPanel === 'views'}
              onClick={() => openPanel('views')}
            >
              Views
            </Button>
            <Matches total={total} of={of} isUncounted={isUncounted} />
            <span className="grow" />
            <Button
              variant="ghost"
              icon={ArrowDownWideNarrow}
              aria-pressed={sort === PROBLEMS_FIRST}
              onClick={() => onSort(sort === PROBLEMS_FIRST ? DEFAULT_SORT : PROBLEMS_FIRST)}
            >
              Problems first
            </Button>
            <Button
              id={`${id}-columns`}
              variant="ghost"
              icon={Columns3}
              aria-haspopup="dialog"
              aria-expanded={shownPanel === 'columns'}
              onClick={() => openPanel('columns')}
            >
              Columns
            </Button>
            <ExportMenu variant="ghost" action="projects_QueryDevices" input={exported}>
              <MenuLine />
              <MenuLink from={DEVICES} to="./import">
                Import names and labels
              </MenuLink>
            </ExportMenu>
          </>
        )}
        <Suspense>
          {panel === 'columns' && (
            <ColumnChooser
              projectId={projectId}
              view={view}
              leftOut={leftOut}
              onChange={onView}
              opener={opener}
              onClose={() => setPanel(undefined)}
            />
          )}
          {panel === 'views' && (
            <ViewsPanel
              projectId={projectId}
              search={search}
              input={input}
              columns={view}
              onSearch={onSearch}
              opener={opener}
              onClose={() => setPanel(undefined)}
            />
          )}
          {(panel === 'condition' || typeof panel === 'object') && (
            <ConditionPanel
              projectId={projectId}
              filter={input.filter}
              where={where}
              edited={panel === 'condition' ? undefined : panel.edited}
              opener={opener}
              onText={() => {
                setPanel(undefined)
                setText(true)
              }}
              onClose={() => setPanel(undefined)}
              onChange={(next, shown) => {
                setPanel(undefined)
                onWhere(next, shown)
              }}
            />
          )}
        </Suspense>
      </div>
      {lineShown && (
        <Suspense>
          <ConditionsLine
            projectId={projectId}
            search={search}
            where={where}
            opened={opened}
            onOpen={onOpen}
            columns={view}
            input={input}
            isText={isText}
            onText={setText}
            onWhere={onWhere}
            onSearch={onSearch}
            onEdit={edited => setPanel({ edited })}
            onAdd={() => setPanel('condition')}
          />
        </Suspense>
      )}
      <div className={`tools ${styles.filters}`}>
        {children}
        {hasTabs && (
          <Suspense>
            <ViewTabs projectId={projectId} search={search} onSearch={onSearch} />
          </Suspense>
        )}
      </div>
    </>
  )
}

type MatchesProps = { total: number | undefined; of: number | undefined; isUncounted: boolean }

/** Number of devices that match the filter: "12 of 1,284 devices". */
export function Matches({ total, of, isUncounted }: MatchesProps) {
  if (total === undefined) return <span className="match">{isUncounted ? '– not counted' : 'Counting…'}</span>
  if (of === undefined || of === total) return <span className="match">{counted(total, 'device')}</span>
  return (
    <span className="match">
      <b>{formatCount(total)}</b> of {counted(of, 'device')}
    </span>
  )
}

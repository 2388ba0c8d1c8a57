import { ActionError, MAX_MARKED_DEVICES } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useMatch, useNavigate, useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react'
import { invalidateActions, useActionState } from '../../../api/queries.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { usePageSearch } from '../../../lib/app/search.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { loadCode } from '../../../lib/load-code.ts'
import { knownCounts } from '../../../offline/known-counts.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { CreateButton } from '../../../ui/app/CreateButton.tsx'
import { LiveStamp } from '../../../ui/app/LiveStamp.tsx'
import { HeadNotice, Page, PageHead } from '../../../ui/app/Page.tsx'
import { RefreshButton } from '../../../ui/app/RefreshButton.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { Skeleton, SkeletonRows } from '../../../ui/Skeleton.tsx'
import { useCurrentBulk } from '../../bulk/shared/bulk-store.ts'
import { DeletingNotice } from '../deleting/DeletingNotice.tsx'
import { useWhere } from '../predicate/use-where.ts'
import { type DeviceSearch, deviceFilters, devicesSearch } from '../shared/device-search.ts'
import type { OpenedView } from '../views/opened-view.ts'
import { DEFAULT_SORT } from './all-devices-input.ts'
import { isHealth } from './attention.ts'
import { LAST_ERROR, propertyColumn, propertyOf } from './column-ids.ts'
import { type ColumnView, columnsBeside, isDefaultView } from './column-view.ts'
import styles from './DevicesPage.module.css'
import { DeviceTable } from './DeviceTable.tsx'
import { DeviceTools, Matches } from './DeviceTools.tsx'
import table from './device-table.module.css'
import { sortedProperty, sortOf } from './devices-input.ts'
import { countOf, Filters } from './Filters.tsx'
import { FleetSummary } from './FleetSummary.tsx'
import { useSelection } from './selection.ts'
import { useColumnView } from './use-column-view.ts'
import { useDeviceCounts } from './use-device-counts.ts'
import { useDeviceList } from './use-device-list.ts'

const ConnectGuide = lazy(async () => ({
  default: (await loadCode(() => import('../connect/ConnectGuide.tsx'))).ConnectGuide,
}))
const FleetSheet = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/FleetSheet.tsx'))).FleetSheet,
}))
const NothingMatches = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/NothingMatches.tsx'))).NothingMatches,
}))
const FailureReasons = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/FailureReasons.tsx'))).FailureReasons,
}))
const SelectionBar = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/SelectionBar.tsx'))).SelectionBar,
}))

const ListedResult = lazy(async () => ({
  default: (await loadCode(() => import('../../bulk/shared/ListedResult.tsx'))).ListedResult,
}))

const FilterChips = lazy(async () => ({
  default: (await loadCode(() => import('./lazy/FilterChips.tsx'))).FilterChips,
}))

const OpenView = lazy(async () => ({
  default: (await loadCode(() => import('../views/OpenView.tsx'))).OpenView,
}))

const PLACE = '/org_{$organization}/projects/$projectId/devices'
const ROUTE = `/authenticated${PLACE}` as const
/**
 * Maximum number of bins to request. A bin is a group of neighbouring devices that `FleetSummary` shows as one mark in its row of
 * marks. `FleetSummary` merges bins if the row is too narrow for all of them.
 */
const MAX_BINS = 200

/** The devices of a project, filtered, sorted and paged by the hub and updated by the live stream. */
export function DevicesPage() {
  const { projectId } = useParams({ from: ROUTE })
  return <Devices key={projectId} projectId={projectId} />
}

function Devices({ projectId }: { projectId: string }) {
  const queryClient = useQueryClient()
  const isNarrow = useIsNarrow()
  const path = useMatch({ from: ROUTE, select: ({ pathname }) => pathname.replace(/\/$/, '') })
  const [inUrl, changeSearch] = usePageSearch(devicesSearch)
  // A link may have a health as `show`. It becomes `health`, because a preset and a health may apply together.
  const asked: DeviceSearch = isHealth(inUrl.show)
    ? { ...inUrl, show: undefined, health: inUrl.health ?? inUrl.show }
    : inUrl
  const navigate = useNavigate()
  const { where, isRead } = useWhere(asked.where)
  const own = useColumnView(projectId)
  const [opened, setOpened] = useState<OpenedView>()
  // With its id alone in the address, the page waits until it has taken over the filter of the view.
  const isBare = !Object.entries(inUrl).some(([name, value]) => value && name !== 'view')
  const isViewOpen = !asked.view || (asked.view === opened?.viewId && (!isBare || opened.isGone === true))
  const { isKnown, leftOut } = own
  // Columns that belong to a view change only in it.
  const viewColumns = asked.view === opened?.viewId && opened?.columns
  const view = viewColumns || own.view
  const changeView = viewColumns ? (columns: ColumnView) => setOpened({ ...opened, columns }) : own.change
  // A sort order in the URL takes precedence over the stored sort order, which is known only after the hub has answered.
  const search = view.sort && !asked.sort ? { ...asked, sort: view.sort } : asked
  const isOrderKnown = isViewOpen && isRead && (isKnown || asked.sort !== undefined)
  const sort = sortOf(search)
  const isFailed = search.show === 'updateFailed'
  const shown = where?.shown ?? NONE
  const filtered = useMemo(() => (isFailed ? [LAST_ERROR, ...shown] : shown), [shown, isFailed])
  const matched = useMemo(
    () => columnsBeside(view, [...[sortedProperty(sort) ?? []].flat(), ...filtered]),
    [view, sort, filtered],
  )
  const columns = useMemo(
    () => [...matched, ...view.columns.flatMap(id => propertyOf(id) ?? [])],
    [matched, view.columns],
  )
  const list = useDeviceList(projectId, search, where?.filter, columns, isOrderKnown, cursor => {
    if (cursor !== (search.cursor ?? '')) changeSearch({ cursor })
  })
  const summary = useActionState('projects_GetSummary', { projectId, maxBins: MAX_BINS, series: true }).data
  const [isGuided, setGuided] = useState(false)
  const [isSelecting, setSelecting] = useState(false)

  // Removes an invalid cursor from the URL, for example the cursor of another sort order. The list then starts at its first
  // device.
  const isLost = !list.startsAtFirst && !list.data && isRefused(list.error)
  useEffect(() => {
    if (isLost) changeSearch({ cursor: undefined })
  })
  // If the first load failed, the route's error page is shown. With search parameters the page stays instead, because
  // the user can undo the filter or sort order that caused the error.
  if (list.error && !list.data && !isLost && !Object.values(search).some(Boolean)) throw list.error

  // The list may be loaded before the stored view, because the route's loader requests both.
  const isWaiting = isLost || !isOrderKnown || (!list.data && !list.error)
  const shownIds = isWaiting ? [] : list.devices.map(({ deviceId }) => deviceId)

  const { filter } = list.input
  const isFiltered = filter !== undefined
  const isSearched = Object.keys(filter ?? {}).some(part => part !== 'status')
  const isEmpty = list.total === 0 && !isFiltered && !list.isPlaceholderData
  const expectedCount = useExpectedCount(projectId)
  const deviceCount = summary?.deviceCount ?? (isFiltered ? undefined : list.total)
  const shapeCount = deviceCount ?? expectedCount
  const isLarge = (shapeCount ?? Number.POSITIVE_INFINITY) > MAX_MARKED_DEVICES
  const isLoaded = list.data !== undefined && !list.isPlaceholderData
  const counts = useDeviceCounts(projectId, filter, isLoaded)
  const found = isSearched ? counts.total : countOf(summary, search.status)
  const total = list.total ?? found ?? undefined
  const isUncounted = total === undefined && found === null

  // A cursor is valid for one filter and sort order only, so a change of these removes the cursor and starts at the first page.
  const change = (next: { [Name in keyof DeviceSearch]?: string | undefined }) =>
    changeSearch({ cursor: undefined, ...next })

  // A link may have a health as `show`, so both parameters are written together.
  const changeFilter = (next: { [Name in keyof DeviceSearch]?: string | undefined }) =>
    change({ show: search.show, health: search.health, ...next })

  const changeSort = (next: string) => {
    const { sort: _, ...others } = view
    changeView(next === DEFAULT_SORT ? others : { ...others, sort: next })
    change({ sort: next })
  }
  // Whether the list is sorted by a property whose column the user has just removed. The sort order is then reset.
  const isSortedWithout = (ids: readonly string[], paths: readonly string[]) => {
    const path = sortedProperty(sort)
    const wasShown =
      path !== undefined && (view.columns.includes(propertyColumn(path)) || filtered.includes(path))
    return wasShown && !ids.includes(propertyColumn(path)) && !paths.includes(path)
  }
  const changeColumns = (next: ColumnView) => {
    if (!isSortedWithout(next.columns, filtered)) return changeView(next)
    const { sort: _, ...others } = next
    changeView(others)
    change({ sort: undefined })
  }
  const changeWhere = (where: string | undefined, paths: readonly string[]) => {
    if (!isSortedWithout(view.columns, paths)) return change({ where })
    const { sort: _, ...others } = view
    changeView(others)
    change({ where, sort: undefined })
  }
  const filterByLabel = async (key: string, value: string) => {
    const { withLabel } = await loadCode(() => import('../predicate/edit-where.ts'))
    const edit = withLabel(where, key, value)
    changeWhere(edit.text, edit.where.shown)
  }
  const clearFilter = () => change(NO_FILTER)

  const selection = useSelection({
    projectId,
    isPlaceholder: list.isPlaceholderData,
    filter,
    total,
  })
  const { hasSelection } = selection
  const isActing = useCurrentBulk(projectId) !== undefined

  return (
    <Page width="list">
      <PageHead title="Devices" count={deviceCount} isCounting={!list.error}>
        {/* The notice of new devices is in the head, because above the table it would move the rows. */}
        {list.heldCount > 0 && (
          <HeadNotice>
            <Button
              onClick={() => {
                list.showHeld()
                scrollTo({ top: 0 })
                focusHeading()
              }}
            >
              {counted(list.heldCount, 'new device')}, show
            </Button>
          </HeadNotice>
        )}
        <LiveStamp updatedAt={list.dataUpdatedAt} {...(list.data && { failedAt: list.errorUpdatedAt })} />
        <RefreshButton
          onRefresh={() => invalidateActions(queryClient, ['projects_QueryDevices', 'projects_GetSummary'])}
        />
        {/* While the guide replaces the list, this button is hidden: leaving would lose the token, which is shown only once. */}
        {!isGuided && (
          <CreateButton
            variant="secondary"
            iconOnPhones
            onClick={() => void navigate({ from: PLACE, to: './connect' })}
          >
            Connect a device
          </CreateButton>
        )}
      </PageHead>
      <DeletingNotice projectId={projectId} shownIds={shownIds} />
      {isEmpty || isGuided ? (
        <Suspense>
          <ConnectGuide
            projectId={projectId}
            title="Connect your first device"
            onHold={setGuided}
            onDone={() => {
              // The guide disappears with the pressed button, so the focus moves to the heading first.
              focusHeading()
              setGuided(false)
            }}
          />
        </Suspense>
      ) : shapeCount === undefined && !list.error ? (
        // Whether the page has the shape of a large project is not known yet.
        <div className="sheet">
          <Skeleton label="Loading devices" />
        </div>
      ) : (
        <>
          {!summary ? (
            <div className={isLarge ? `sheet ${styles.place}` : `sheet ${styles.place} ${styles.few}`} />
          ) : summary.deviceCount > MAX_MARKED_DEVICES ? (
            <Suspense fallback={<div className={`sheet ${styles.place}`} />}>
              <FleetSheet summary={summary} search={search} onChange={changeFilter} />
            </Suspense>
          ) : (
            <FleetSummary summary={summary} />
          )}
          {list.error && !isLost && (
            <Alert
              tone="bad"
              title="Could not load devices."
              action={
                !list.data && (
                  <Button size="sm" onClick={() => void list.refetch()}>
                    Try again
                  </Button>
                )
              }
            >
              <ErrorText error={list.error} />
              {list.data && (
                <>
                  {' '}
                  The rows below are from <Time at={new Date(list.dataUpdatedAt).toISOString()} />.
                </>
              )}
            </Alert>
          )}
          {search.view && (
            <Suspense>
              <OpenView
                projectId={projectId}
                viewId={search.view}
                isBare={isBare}
                order={own.view.sort ?? DEFAULT_SORT}
                opened={opened}
                onOpen={setOpened}
                onSearch={changeSearch}
              />
            </Suspense>
          )}
          <DeviceTools
            projectId={projectId}
            search={search}
            onText={q => change({ q })}
            where={where}
            onWhere={changeWhere}
            opened={opened}
            onOpen={setOpened}
            onSearch={change}
            view={view}
            leftOut={leftOut}
            onView={changeColumns}
            sort={sort}
            onSort={changeSort}
            total={total}
            of={deviceCount}
            isUncounted={isUncounted}
            input={list.input}
            onSelecting={() => setSelecting(true)}
          >
            {(search.software || search.error || search.target || search.token || search.address) && (
              <Suspense>
                <FilterChips projectId={projectId} search={search} onChange={change} />
              </Suspense>
            )}
            <Filters
              search={search}
              summary={summary}
              counts={counts}
              isLarge={isLarge}
              deviceCount={shapeCount}
              onChange={changeFilter}
            />
            {isFailed && (
              <Suspense>
                <FailureReasons
                  projectId={projectId}
                  search={search}
                  where={where?.filter}
                  onChange={change}
                />
              </Suspense>
            )}
            {isNarrow && total !== deviceCount && (
              <Matches total={total} of={deviceCount} isUncounted={isUncounted} />
            )}
          </DeviceTools>
          {search.result && (
            <Suspense>
              <ListedResult
                projectId={projectId}
                bulkActionId={search.result}
                onAll={() => change({ result: undefined })}
                onResult={result => change({ result })}
              />
            </Suspense>
          )}
          {!list.startsAtFirst && (
            <div className="tools">
              <span className="secondary">The list starts further down.</span>
              <Button size="sm" onClick={() => change({})}>
                From the first device
              </Button>
            </div>
          )}
          <div className="sheet">
            <DeviceTable
              devices={list.devices}
              path={path}
              total={total === undefined ? undefined : total - list.heldCount}
              isFromFirst={list.startsAtFirst}
              sort={sort}
              onSort={changeSort}
              onView={list.onView}
              isBusy={isWaiting || list.isPlaceholderData}
              view={view}
              isDefaultView={isDefaultView(view) && matched.every(path => path === LAST_ERROR)}
              onColumns={changeColumns}
              matched={matched}
              filtered={filtered}
              memberPaths={list.memberPaths}
              selection={selection}
              isSelecting={isSelecting || hasSelection}
              onSelecting={() => setSelecting(true)}
              onLabel={filterByLabel}
            >
              {columnCount =>
                insteadOfRows(list, isWaiting, columnCount, () => (
                  <NothingMatches
                    projectId={projectId}
                    search={search}
                    onChange={changeFilter}
                    onClear={clearFilter}
                  />
                ))
              }
            </DeviceTable>
          </div>
          {(hasSelection || isActing || (isNarrow && isSelecting)) && (
            <Suspense>
              <SelectionBar
                selection={selection}
                total={total}
                isUncounted={isUncounted}
                input={list.input}
                onClose={() => setSelecting(false)}
              />
            </Suspense>
          )}
          {shownIds.length > 0 && (
            <div className="list-foot">
              <span>
                {list.isFetchingNextPage
                  ? 'Loading more…'
                  : total !== undefined &&
                    `${formatCount(list.devices.length)} of ${formatCount(total)} shown`}
              </span>
              <span className="grow" />
              <span aria-hidden="true">
                <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open <kbd>x</kbd> select <kbd>?</kbd> all keys
              </span>
            </div>
          )}
        </>
      )}
    </Page>
  )
}

/**
 * Number of devices for the shape of the page while the summary loads: from the details of the project, which the sidebar needs too, else
 * from the last visit.
 */
function useExpectedCount(projectId: string): number | undefined {
  const details = useActionState('projects_GetDetails', { projectId }).data
  const [known] = useState(() => knownCounts().find(({ path }) => path.includes(projectId))?.total)
  return details?.deviceCount ?? known
}

const NO_FILTER = Object.fromEntries([...Object.keys(deviceFilters), 'view'].map(name => [name, undefined]))

/** Without conditions no property gets a column. */
const NONE: readonly string[] = []

function isRefused(error: Error | null): boolean {
  return error instanceof ActionError && error.kind === 'Invalid'
}

function insteadOfRows(
  list: ReturnType<typeof useDeviceList>,
  isWaiting: boolean,
  columnCount: number,
  nothingMatches: () => ReactNode,
): ReactNode {
  if (isWaiting) return <SkeletonRows columns={columnCount} />
  if (list.devices.length > 0) return undefined
  return (
    <tr>
      <td colSpan={columnCount} className={table.noMatch}>
        {list.data ? (
          <Suspense fallback="No devices match this filter.">{nothingMatches()}</Suspense>
        ) : (
          <span className="muted">Not loaded.</span>
        )}
      </td>
    </tr>
  )
}

import type { ActionInput } from '@muster/actions/client'
import { Link, useParams } from '@tanstack/react-router'
import { Copy, Ellipsis, Lock, Pencil, Plus, Star, Trash, Users } from 'lucide-react'
import { type MouseEvent, useRef, useState } from 'react'
import { useActionState, useCommand } from '../../../api/queries.ts'
import { confirmed } from '../../../lib/app/confirm.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { copyText } from '../../../lib/clipboard.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Menu, MenuItem, MenuLine } from '../../../ui/app/Menu.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { Popover } from '../../../ui/lazy/Popover.tsx'
import type { ColumnView } from '../list/column-view.ts'
import { Note } from '../list/lazy/Note.tsx'
import panel from '../list/lazy/panel.module.css'
import type { DeviceSearch } from '../shared/device-search.ts'
import { viewsInput } from '../shared/views-input.ts'
import { SaveViewDialog } from './SaveViewDialog.tsx'
import { useViewCounts } from './use-view-counts.ts'
import styles from './ViewsPanel.module.css'
import { CLEARED, savedOf, type View, viewText } from './view-search.ts'

type ViewsPanelProps = {
  projectId: string
  search: DeviceSearch
  /** Input of the query for the list, and its columns, which a new view keeps. */
  input: Omit<ActionInput<'projects_QueryDevices'>, 'cursor'>
  columns: ColumnView
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
  opener: () => HTMLElement | null
  onClose: () => void
}

const GROUPS = [
  { isShared: true, heading: 'Everyone in this project' },
  { isShared: false, heading: 'Only you' },
]

/** Panel with all saved views of the device list: opens, changes, shares and deletes them, and saves the list as a new one. */
export function ViewsPanel({
  projectId,
  search,
  input,
  columns,
  onSearch,
  opener,
  onClose,
}: ViewsPanelProps) {
  const { data, error } = useActionState('views_Query', viewsInput(projectId))
  const [text, setText] = useState('')
  const [edited, setEdited] = useState<View | 'new'>()
  // The menu of a view gives the focus away before its item runs, which closes the panel.
  const isEditing = useRef(false)
  const edit = (view: View | 'new') => {
    isEditing.current = true
    setEdited(view)
  }
  const close = () => void setTimeout(() => isEditing.current || onClose())
  const views = data?.views ?? []
  const counts = useViewCounts(projectId, views)
  const part = text.trim().toLowerCase()
  const found = views.filter(view => `${view.name}\n${viewText(view)}`.toLowerCase().includes(part))
  if (edited)
    return (
      <SaveViewDialog
        projectId={projectId}
        saved={edited === 'new' ? savedOf(projectId, input, columns) : edited}
        view={edited === 'new' ? undefined : edited}
        onClose={onClose}
        onSaved={viewId => {
          onClose()
          if (edited === 'new') onSearch({ view: viewId })
        }}
      />
    )
  return (
    <Popover label="Views" className={`${panel.panel} ${styles.views}`} opener={opener} onClose={close}>
      <h2 className="visually-hidden">Views</h2>
      <div className={styles.find}>
        <input
          className="input"
          type="search"
          aria-label="Find a view"
          placeholder="Find a view"
          autoComplete="off"
          value={text}
          onChange={event => setText(event.target.value)}
        />
      </div>
      <div className={styles.lists}>
        {GROUPS.map(({ isShared, heading }) => {
          const own = found.filter(view => view.isShared === isShared)
          return (
            own.length > 0 && (
              <section key={heading} aria-label={heading}>
                <h3>{heading}</h3>
                <ul>
                  {own.map(view => (
                    <ViewRow
                      key={view.viewId}
                      projectId={projectId}
                      view={view}
                      isOpen={view.viewId === search.view}
                      count={counts && (counts.get(view.viewId) ?? null)}
                      onView={() => {
                        onClose()
                        onSearch({ ...CLEARED, view: view.viewId })
                      }}
                      onEdit={() => edit(view)}
                      onDeleted={() => view.viewId === search.view && onSearch({ view: undefined })}
                    />
                  ))}
                </ul>
              </section>
            )
          )
        })}
        {error && !data && (
          <Note>
            Could not load the views. <ErrorText error={error} />
          </Note>
        )}
        {!data && !error && <Note>Loading…</Note>}
        {data && found.length === 0 && (
          <Note>
            {views.length === 0
              ? 'Nothing is saved yet. A view keeps the conditions, columns and order of the list.'
              : 'No view matches this text.'}
          </Note>
        )}
      </div>
      <footer className="row">
        <Button size="sm" icon={Plus} onClick={() => edit('new')}>
          Save as a new view…
        </Button>
      </footer>
    </Popover>
  )
}

type ViewRowProps = {
  projectId: string
  view: View
  isOpen: boolean
  /** Null if it was not counted; undefined while it is counted. */
  count: number | null | undefined
  onView: () => void
  onEdit: () => void
  onDeleted: () => void
}

function ViewRow({ projectId, view, isOpen, count, onView, onEdit, onDeleted }: ViewRowProps) {
  const { organization = '' } = useParams({ strict: false })
  const { viewId, name, conditions, columns, order, isShared, isInRow, mayChange } = view
  const invalidates = ['views_Query', 'views_Get'] as const
  const change = useCommand('views_Set', { invalidates })
  const remove = useCommand('views_Delete', { invalidates })
  const href = `/org_${organization}/projects/${projectId}/devices?view=${viewId}`
  async function set(next: { isShared?: boolean; isInRow?: boolean }, done: string) {
    try {
      const kept = { name, conditions, columns, order, isShared, isInRow }
      await change.mutateAsync({ projectId, viewId, ...kept, ...next })
      toast(done)
    } catch (error) {
      toastError(`The view ${name} was not changed.`, error)
    }
  }
  async function deleteView() {
    try {
      await confirmed(`Delete the view ${name}? A link to it then says that it was deleted.`)
      await remove.mutateAsync({ projectId, viewId })
      onDeleted()
      toast(`View ${name} deleted.`)
    } catch (error) {
      toastError(`The view ${name} was not deleted.`, error)
    }
  }
  async function copyLink() {
    const isCopied = await copyText(new URL(href, location.href).href)
    toast(isCopied ? `Link to ${name} copied.` : 'The browser refused to copy.')
  }
  return (
    <li className={styles.view} data-open={isOpen}>
      <Link
        to="."
        search={{ view: viewId }}
        aria-current={isOpen}
        onClick={(event: MouseEvent) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return
          event.preventDefault()
          onView()
        }}
      >
        <span className="truncated">{name}</span>
        <small className="mono truncated">{viewText(view)}</small>
      </Link>
      <span className={`tabular ${styles.count}`}>
        {count === undefined ? '' : count === null ? '–' : formatCount(count)}
      </span>
      {mayChange && (
        <IconButton
          size="sm"
          icon={Star}
          label={
            isInRow ? `Take ${name} from the row above the list` : `Put ${name} into the row above the list`
          }
          aria-pressed={isInRow}
          onClick={() =>
            void set(
              { isInRow: !isInRow },
              isInRow ? `${name} is not in the row any more.` : `${name} is in the row above the list.`,
            )
          }
        />
      )}
      <Menu
        align="end"
        trigger={
          <Button size="sm" variant="ghost" aria-label={`More for ${name}`}>
            <Ellipsis className="icon" aria-hidden />
          </Button>
        }
      >
        <MenuItem icon={Copy} onSelect={() => void copyLink()}>
          Copy link
        </MenuItem>
        {mayChange && (
          <>
            <MenuItem icon={Pencil} onSelect={onEdit}>
              Rename…
            </MenuItem>
            <MenuItem
              icon={isShared ? Lock : Users}
              onSelect={() =>
                void set(
                  { isShared: !isShared },
                  isShared ? `Only you see ${name}.` : `Everyone in this project sees ${name}.`,
                )
              }
            >
              {isShared ? 'Make private' : 'Share'}
            </MenuItem>
            <MenuLine />
            <MenuItem icon={Trash} onSelect={() => void deleteView()}>
              Delete…
            </MenuItem>
          </>
        )}
      </Menu>
    </li>
  )
}

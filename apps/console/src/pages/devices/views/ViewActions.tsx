import type { ActionInput } from '@muster/actions/client'
import { Bookmark, ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { useActionState, useCommand } from '../../../api/queries.ts'
import { Menu, MenuItem } from '../../../ui/app/Menu.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import type { ColumnView } from '../list/column-view.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import type { OpenedView } from './opened-view.ts'
import { SaveViewDialog } from './SaveViewDialog.tsx'
import { CLEARED, columnsOf, isChanged, openingOf, savedOf } from './view-search.ts'

type ViewActionsProps = {
  projectId: string
  search: DeviceSearch
  opened: OpenedView | undefined
  onOpen: (opened: OpenedView) => void
  columns: ColumnView
  /** Input of the query for the list. */
  input: Omit<ActionInput<'projects_QueryDevices'>, 'cursor'>
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
}

/** Saves the list as a view, or the changes of the view that is open, and takes changes back. */
export function ViewActions({
  projectId,
  search,
  opened,
  onOpen,
  columns,
  input,
  onSearch,
}: ViewActionsProps) {
  const viewId = search.view ?? ''
  const { data } = useActionState('views_Get', { projectId, viewId }, { enabled: viewId !== '' })
  const view = data?.result === 'Found' && opened?.viewId === viewId ? data.view : undefined
  const [isSaving, setSaving] = useState(false)
  const save = useCommand('views_Set', { invalidates: ['views_Get', 'views_Query'] })
  const saved = savedOf(projectId, input, columns)
  const saveNew = () => setSaving(true)
  async function saveChanges() {
    if (!view) return
    const { name, isShared, isInRow } = view
    try {
      await save.mutateAsync({ projectId, viewId, name, isShared, isInRow, ...saved })
      toast(`View ${name} saved.`)
    } catch (error) {
      toastError(`The view ${name} was not saved.`, error)
    }
  }
  function reset() {
    if (!view) return
    onOpen({ viewId, columns: columnsOf(view) })
    onSearch(openingOf(view, input.sort ?? ''))
  }
  const isDirty = view !== undefined && isChanged(view, saved)
  return (
    <>
      {view && !isDirty && (
        <Button size="sm" variant="ghost" onClick={() => onSearch(CLEARED)}>
          All devices
        </Button>
      )}
      {isDirty && view.mayChange && (
        <Menu
          align="end"
          trigger={
            <Button size="sm" icon={Bookmark}>
              Save view
              <ChevronDown className="icon small-icon" aria-hidden />
            </Button>
          }
        >
          <MenuItem onSelect={() => void saveChanges()}>{`Save changes of ${view.name}`}</MenuItem>
          <MenuItem onSelect={saveNew}>Save as a new view…</MenuItem>
        </Menu>
      )}
      {(view ? isDirty && !view.mayChange : input.filter) && (
        <Button size="sm" icon={Bookmark} onClick={saveNew}>
          Save view
        </Button>
      )}
      {isDirty && (
        <Button size="sm" variant="ghost" onClick={reset}>
          Reset
        </Button>
      )}
      {isSaving && (
        <SaveViewDialog
          projectId={projectId}
          saved={saved}
          onClose={() => setSaving(false)}
          onSaved={saved => {
            setSaving(false)
            onSearch({ view: saved })
          }}
        />
      )}
    </>
  )
}

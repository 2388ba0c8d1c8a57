import { ActionError } from '@muster/actions/client'
import { useEffect, useEffectEvent } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { dayInYear } from '../../../lib/app/local-time.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { ErrorText } from '../../../ui/ErrorText.tsx'
import { nameOf } from '../shared/actor-name.ts'
import type { DeviceSearch } from '../shared/device-search.ts'
import type { OpenedView } from './opened-view.ts'
import { columnsOf, openingOf } from './view-search.ts'

type OpenViewProps = {
  projectId: string
  viewId: string
  /** Whether the address names the view alone. */
  isBare: boolean
  /** Order of the list for a view without one. */
  order: string
  opened: OpenedView | undefined
  onOpen: (opened: OpenedView) => void
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
}

/**
 * Takes the filter, order and columns of the saved view in the address over into the list. An address that has a filter too keeps it, as a
 * change of the view that is not saved. Says why a view cannot be shown.
 */
export function OpenView({ projectId, viewId, isBare, order, opened, onOpen, onSearch }: OpenViewProps) {
  const { data, error, refetch } = useActionState('views_Get', { projectId, viewId })
  const view = data?.result === 'Found' ? data.view : undefined
  // A link may name an id that is none.
  const isRefused = error instanceof ActionError && (error.kind === 'Forbidden' || error.kind === 'Invalid')
  const isGone = data?.result === 'Deleted' || isRefused
  const open = useEffectEvent(() => {
    if (view && isBare) {
      onSearch(openingOf(view, order))
      return onOpen({ viewId, columns: columnsOf(view) })
    }
    if (opened?.viewId === viewId) return
    if (view) onOpen({ viewId, columns: columnsOf(view) })
    else if (isGone) onOpen({ viewId, isGone: true })
    // The address has a filter of its own.
    else if (error && !isBare) onOpen({ viewId })
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another view, or its answer, arrives
  useEffect(open, [viewId, isBare, view !== undefined, isGone, error, opened?.viewId])

  const leave = (
    <Button size="sm" onClick={() => onSearch({ view: undefined })}>
      Close
    </Button>
  )
  if (data?.result === 'Deleted')
    return (
      <Alert tone="warn" title={`The view ${data.name} is gone.`} action={leave}>
        {`This view was deleted by ${nameOf(data)} on ${dayInYear(Date.parse(data.deletedAt), Date.now())}.`}
      </Alert>
    )
  if (isRefused)
    return (
      <Alert tone="warn" title="This view cannot be shown." action={leave}>
        It is private to another person, or it does not exist. The list is not filtered by it.
      </Alert>
    )
  if (error && !view)
    return (
      <Alert
        tone="bad"
        title="Could not load the view."
        action={
          <Button size="sm" onClick={() => void refetch()}>
            Try again
          </Button>
        }
      >
        <ErrorText error={error} />
      </Alert>
    )
  return null
}

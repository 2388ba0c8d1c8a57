import type { ReactNode } from 'react'
import { useCommand } from '../../api/queries.ts'
import { toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { Spinner } from '../../ui/Spinner.tsx'
import styles from './BulkProgress.module.css'
import {
  type BulkAction,
  doingWord,
  itemsOfPreview,
  progressWords,
  refusedCount,
} from './shared/bulk-words.ts'

type BulkProgressProps = { projectId: string; action: BulkAction; children?: ReactNode }

/** Progress of a bulk action, with a bar and a button that cancels it. The action continues when the page is left. */
export function BulkProgress({ projectId, action, children }: BulkProgressProps) {
  const { bulkActionId, itemCount, succeededCount, status } = action
  const done = succeededCount + refusedCount(action)
  const cancel = useCommand('devices_CancelBulkAction', {
    invalidates: ['devices_GetBulkAction', 'devices_QueryBulkActionItems'],
  })
  const isWaiting = status === 'Waiting'
  return (
    <div className={`row ${styles.progress}`}>
      <Spinner />
      <div className="grow">
        <p role="status">
          {isWaiting
            ? `${doingWord(action.kind)} ${itemsOfPreview(action)} in ${action.dueInSecs ?? 0} s.`
            : progressWords(action)}
        </p>
        <progress max={itemCount} value={done} aria-label="Progress" />
      </div>
      {children}
      <Button
        size="sm"
        busy={cancel.isPending}
        onClick={() =>
          cancel.mutate(
            { projectId, bulkActionId },
            { onError: error => toastError('Could not cancel', error) },
          )
        }
      >
        {isWaiting ? 'Undo' : 'Cancel'}
      </Button>
    </div>
  )
}

import { Undo2 } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import type { BulkAction } from './shared/bulk-words.ts'

type UndoButtonProps = {
  projectId: string
  action: BulkAction
  /** Called with the id of the bulk action that undoes the other. */
  onStarted: (bulkActionId: string) => void
}

/** Button that sets the labels and names again that a change has replaced. It is there for 10 min after the end of the change. */
export function UndoButton({ projectId, action, onStarted }: UndoButtonProps) {
  const undo = useCommand('devices_StartBulkUndo', {
    invalidates: ['devices_GetBulkAction', 'projects_QueryDevices'],
    onSuccess: ({ bulkActionId }) => onStarted(bulkActionId),
  })
  if (!action.undoForSecs || action.undoneBy) return null
  return (
    <Button
      icon={Undo2}
      busy={undo.isPending}
      onClick={() =>
        undo.mutate(
          { projectId, bulkActionId: action.bulkActionId },
          { onError: error => toastError('Could not undo', error) },
        )
      }
    >
      Undo
    </Button>
  )
}

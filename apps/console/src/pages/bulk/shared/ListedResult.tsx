import { useParams } from '@tanstack/react-router'
import { Button } from '../../../ui/Button.tsx'
import { useBulkAction } from '../use-bulk-action.ts'
import { BulkResult } from './BulkResult.tsx'
import { isChange } from './bulk-words.ts'

type ListedResultProps = {
  projectId: string
  bulkActionId: string
  /** Called to show all devices of the list again. */
  onAll: () => void
  /** Called to show the result of another bulk action. */
  onResult: (bulkActionId: string) => void
}

/** Stands above the list of the devices of a bulk action: the result of a change, or a line for other kinds. */
export function ListedResult({ projectId, bulkActionId, onAll, onResult }: ListedResultProps) {
  const { organization = '' } = useParams({ strict: false })
  const { data: action } = useBulkAction(projectId, bulkActionId)
  if (action && isChange(action.kind))
    return (
      <BulkResult
        key={bulkActionId}
        isOverList
        projectId={projectId}
        organization={organization}
        bulkActionId={bulkActionId}
        onClose={onAll}
        onResult={onResult}
      />
    )
  return (
    <div className="tools">
      <span className="secondary">Devices of one bulk action.</span>
      <Button size="sm" onClick={onAll}>
        All devices
      </Button>
    </div>
  )
}

import { Trash2 } from 'lucide-react'
import { confirmed } from '../../lib/app/confirm.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { IconButton } from './IconButton.tsx'
import { toast, toastError } from './toast.ts'

type DeleteTokenButtonProps = {
  /** Name of the token, or "unnamed". */
  name: string
  isDeleting: boolean
  onDelete: () => Promise<unknown>
}

/** Button of a row that deletes its token after a question. */
export function DeleteTokenButton({ name, isDeleting, onDelete }: DeleteTokenButtonProps) {
  async function deleteToken() {
    try {
      await confirmed('Are you sure you want to delete this token?')
      await onDelete()
      toast(`Token ${name} deleted.`)
      focusHeading()
    } catch (error) {
      toastError('Could not delete the token', error)
    }
  }

  return (
    <IconButton
      label={`Delete token ${name}`}
      icon={Trash2}
      size="sm"
      busy={isDeleting}
      onClick={() => void deleteToken()}
    />
  )
}

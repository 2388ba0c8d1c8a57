import { type ReactNode, useState } from 'react'
import { Alert } from '../Alert.tsx'
import { type CloseReason, Dialog, DialogBody, DialogFoot } from '../app/Dialog.tsx'
import { Button } from '../Button.tsx'
import { Secret } from './Secret.tsx'

type SecretDialogProps = {
  title: string
  /** The secret. The caller keeps it in component state, never in the query cache. */
  token: string
  /** Facts about the token, below the secret. */
  facts?: ReactNode
  children?: ReactNode
  onClose: () => void
}

/**
 * Shows a new token once. Until the token has been copied, the first Escape or click outside of the dialog only shows a warning.
 */
export function SecretDialog({ title, token, facts, children, onClose }: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)

  function close(reason: CloseReason) {
    if (isCopied || isWarned || reason === 'button') onClose()
    else setWarned(true)
  }

  return (
    <Dialog title={title} onClose={close}>
      <DialogBody>
        <Alert tone="warn">Copy this token now. It cannot be viewed later.</Alert>
        <Secret text={token} what="token" onCopied={() => setCopied(true)} />
        {facts}
        {children}
        {isWarned && !isCopied && (
          <Alert tone="bad">The token has not been copied. Close again to leave it.</Alert>
        )}
      </DialogBody>
      <DialogFoot>
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

import { type ReactNode, useState } from 'react'
import { Alert } from '../Alert.tsx'
import { type CloseReason, Dialog, DialogBody, DialogFoot } from '../app/Dialog.tsx'
import { Button } from '../Button.tsx'
import { Secret } from './Secret.tsx'

type SecretDialogProps = {
  title: string
  /** Name of the secret, for example "token". */
  what?: string
  /** The secret. The caller keeps it in component state, never in the query cache. */
  token: string
  /** Content above the secret, for example what happened before. */
  lead?: ReactNode
  /** Facts about the secret, below it. */
  facts?: ReactNode
  children?: ReactNode
  onClose: () => void
}

/**
 * Shows a new secret once. Until the secret has been copied, the first Escape or click outside of the dialog only shows a warning.
 */
export function SecretDialog({
  title,
  what = 'token',
  token,
  lead,
  facts,
  children,
  onClose,
}: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)

  function close(reason: CloseReason) {
    if (isCopied || isWarned || reason === 'button') onClose()
    else setWarned(true)
  }

  return (
    <Dialog title={title} onClose={close}>
      <DialogBody>
        {lead}
        <Alert tone="warn">Copy this {what} now. It cannot be viewed later.</Alert>
        <Secret text={token} what={what} onCopied={() => setCopied(true)} />
        {facts}
        {children}
        {isWarned && !isCopied && (
          <Alert tone="bad">The {what} has not been copied. Close again to leave it.</Alert>
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

import { agentCommand } from '@muster/actions/client'
import { type ReactNode, useState } from 'react'
import { useDeviceUrl } from '../../api/config.ts'
import { Alert } from '../../ui/Alert.tsx'
import { type CloseReason, Dialog, DialogBody, DialogFoot } from '../../ui/app/Dialog.tsx'
import { Secret } from '../../ui/app/Secret.tsx'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'

type SecretDialogProps = {
  title: string
  /** The secret. The caller keeps it in component state, never in the query cache. */
  token: string
  /** Facts about the token, below the secret. */
  facts?: ReactNode
  /** Label of the command with which a device uses the token. Without a label no command is shown. */
  commandLabel?: string
  children?: ReactNode
  onClose: () => void
}

/**
 * Shows a new token once, optionally with a command that uses the token. Until the token has been copied, the first
 * Escape or click outside of the dialog only shows a warning.
 */
export function SecretDialog({ title, token, facts, commandLabel, children, onClose }: SecretDialogProps) {
  const deviceUrl = useDeviceUrl()
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)
  const markCopied = () => setCopied(true)

  function close(reason: CloseReason) {
    if (isCopied || isWarned || reason === 'button') onClose()
    else setWarned(true)
  }

  return (
    <Dialog title={title} onClose={close}>
      <DialogBody>
        <Alert tone="warn">Copy this token now. It cannot be viewed later.</Alert>
        <Secret text={token} what="token" onCopied={markCopied} />
        {facts}
        {commandLabel && (
          <div className="field">
            <p className="label">{commandLabel}</p>
            <Code text={agentCommand(deviceUrl, token)} label="Copy command" prompt onCopied={markCopied} />
          </div>
        )}
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

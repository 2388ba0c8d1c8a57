import { useState } from 'react'
import { usePublicUrl } from '../../api/config.ts'
import { agentCommand } from '../../lib/agent-command.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { type CloseReason, Dialog, DialogBody, DialogFoot } from '../../ui/Dialog.tsx'
import { Secret } from '../../ui/Secret.tsx'
import { TokenForm } from './TokenForm.tsx'
import { type Enrolment, useEnrolment } from './use-enrolment.ts'
import { WaitingDevice } from './WaitingDevice.tsx'

type ConnectDeviceDialogProps = { projectId: string; open: boolean; onClose: () => void }

/** Makes a deployment token, shows it once with the command for the device and waits for it to connect. */
export function ConnectDeviceDialog({ open, ...rest }: ConnectDeviceDialogProps) {
  // Mounted only while open: the next opening makes another token.
  return open ? <OpenDialog {...rest} /> : null
}

function OpenDialog({ projectId, onClose }: Omit<ConnectDeviceDialogProps, 'open'>) {
  const { enrolment, start } = useEnrolment(projectId)
  if (enrolment) return <CommandStep projectId={projectId} enrolment={enrolment} onClose={onClose} />
  return (
    <Dialog title="Connect a device" open onClose={onClose}>
      <TokenForm start={start}>
        {(field, { canSubmit, isSubmitting }) => (
          <>
            <DialogBody>{field}</DialogBody>
            <DialogFoot>
              <Button onClick={onClose}>Cancel</Button>
              <Button
                type="submit"
                variant="primary"
                disabled={!canSubmit && !isSubmitting}
                busy={isSubmitting}
                busyLabel="Creating…"
              >
                Create Token
              </Button>
            </DialogFoot>
          </>
        )}
      </TokenForm>
    </Dialog>
  )
}

type CommandStepProps = { projectId: string; enrolment: Enrolment; onClose: () => void }

function CommandStep({ projectId, enrolment: { token, before }, onClose }: CommandStepProps) {
  const publicUrl = usePublicUrl()
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)
  const markCopied = () => setCopied(true)

  function close(reason: CloseReason) {
    if (isCopied || isWarned || reason === 'button') onClose()
    else setWarned(true)
  }
  return (
    <Dialog title="Connect a device" open onClose={close}>
      <DialogBody>
        <Alert tone="warn">
          Copy this token now. It <strong>cannot be viewed later</strong>.
        </Alert>
        <Secret text={token} what="token" onCopied={markCopied} />
        <div className="field">
          <p className="label">Run this on the machine that becomes the device</p>
          <Code text={agentCommand(publicUrl, token)} label="Copy command" prompt onCopied={markCopied} />
        </div>
        <WaitingDevice projectId={projectId} before={before} />
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

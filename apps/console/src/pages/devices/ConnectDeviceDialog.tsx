import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogBody, DialogFoot } from '../../ui/Dialog.tsx'
import { SecretDialog } from '../tokens/SecretDialog.tsx'
import { TokenForm } from './TokenForm.tsx'
import { useEnrolment } from './use-enrolment.ts'
import { WaitingDevice } from './WaitingDevice.tsx'

type ConnectDeviceDialogProps = { projectId: string; open: boolean; onClose: () => void }

/** Makes a deployment token, shows it once with the command for the device and waits for it to connect. */
export function ConnectDeviceDialog({ open, ...rest }: ConnectDeviceDialogProps) {
  // Mounted only while open: the next opening makes another token.
  return open ? <OpenDialog {...rest} /> : null
}

function OpenDialog({ projectId, onClose }: Omit<ConnectDeviceDialogProps, 'open'>) {
  const { enrolment, start } = useEnrolment(projectId)
  if (enrolment) {
    return (
      <SecretDialog
        title="Connect a device"
        token={enrolment.token}
        commandLabel="Run this on the machine that becomes the device"
        onClose={onClose}
      >
        <WaitingDevice projectId={projectId} before={enrolment.before} />
      </SecretDialog>
    )
  }
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

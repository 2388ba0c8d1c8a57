import { FormDialog } from '../../../ui/app/FormDialog.tsx'
import { SecretDialog } from '../../tokens/SecretDialog.tsx'
import { useTokenForm } from '../../tokens/use-token-form.tsx'
import { DEFAULT_TOKEN_NAME, useEnrolment } from './use-enrolment.ts'
import { WaitingDevice } from './WaitingDevice.tsx'

/** Creates a deployment token, shows it once with the command for the device, and waits for the device to connect. */
export function ConnectDeviceDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  const { enrolment, start } = useEnrolment(projectId)
  const { form, fields } = useTokenForm(DEFAULT_TOKEN_NAME, start)
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
    <FormDialog
      title="Connect a device"
      form={form}
      submit="Create Token"
      busyLabel="Creating…"
      onClose={onClose}
    >
      {fields}
    </FormDialog>
  )
}

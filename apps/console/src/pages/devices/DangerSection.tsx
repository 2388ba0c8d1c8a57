import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { DangerLine, DangerZone } from '../../ui/DangerZone.tsx'
import { toast, toastError } from '../../ui/toast.ts'

/** Deletes a device without asking and goes back to the list (spec 4 and 5). */
export function DangerSection({ deviceId, name }: { deviceId: string; name: string }) {
  const navigate = useNavigate()
  const remove = useCommand('devices_Delete', {
    deletes: input => input.deviceId,
    invalidates: ['projects_QueryDevices', 'projects_GetSummary', 'projects_GetDetails'],
    onSuccess: () =>
      navigate({
        from: '/org_{$organization}/projects/$projectId/devices/$deviceId',
        to: '..',
        replace: true,
      }),
  })
  return (
    <DangerZone id="dz">
      <DangerLine
        name="Delete Device"
        consequence="Removes the device with its certificates, properties and events. This cannot be undone."
        button={
          <Button
            variant="danger"
            icon={Trash2}
            busy={remove.isPending}
            busyLabel="Deleting…"
            onClick={() =>
              remove.mutateAsync({ deviceId }).then(
                () => toast(`Device ${name} deleted.`),
                error => toastError('Could not delete the device', error),
              )
            }
          >
            Delete Device
          </Button>
        }
      />
    </DangerZone>
  )
}

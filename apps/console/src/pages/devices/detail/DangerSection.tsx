import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useCommand } from '../../../api/queries.ts'
import { DangerLine, DangerZone } from '../../../ui/app/DangerZone.tsx'
import { toast } from '../../../ui/app/toast.ts'

/** Deletes a device without confirmation and returns to the list (docs/product.md 4 and 5). */
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
        icon={Trash2}
        busyLabel="Deleting…"
        act={async () => {
          await remove.mutateAsync({ deviceId })
          toast(`Device ${name} deleted.`)
        }}
        failure="Could not delete the device"
      />
    </DangerZone>
  )
}

import { Trash2 } from 'lucide-react'
import { DangerLine, DangerZone } from '../../../ui/lazy/DangerZone.tsx'
import { useDelete } from './DeviceMenu.tsx'

type DangerSectionProps = { projectId: string; deviceId: string; name: string }

/** Starts the deletion of a device without confirmation and returns to the list, which offers Undo (docs/specification.md 5, docs/product.md 4). */
export function DangerSection({ projectId, deviceId, name }: DangerSectionProps) {
  const remove = useDelete({ projectId, deviceId, name })
  return (
    <DangerZone id="dz">
      <DangerLine
        name="Delete Device"
        consequence="Removes the device with its certificates, properties and events. You can undo it for 10 seconds."
        icon={Trash2}
        busyLabel="Deleting…"
        act={remove}
        failure="Could not delete the device"
      />
    </DangerZone>
  )
}

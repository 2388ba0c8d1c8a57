import type { ActionOutput } from '@muster/actions/client'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Trash2 } from 'lucide-react'
import { useCommand } from '../../../api/queries.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { toast } from '../../../ui/app/toast.ts'
import { DangerLine, DangerZone } from '../../../ui/lazy/DangerZone.tsx'
import { deviceNameText } from '../shared/device-name.ts'
import { DEVICE_PAGE, useDelete } from './DeviceMenu.tsx'
import { MAX_SHARED } from './problems.ts'

type Certificate = ActionOutput<'devices_GetDetails'>['certificates'][number]

type DangerSectionProps = {
  projectId: string
  deviceId: string
  name: string
  certificates: readonly Certificate[]
}

/**
 * Starts the deletion of a device without confirmation and returns to the list, which offers Undo (docs/specification.md 5, docs/product.md
 * 4). A block asks first, because the question says which certificates are refused.
 */
export function DangerSection({ projectId, deviceId, name, certificates }: DangerSectionProps) {
  const remove = useDelete({ projectId, deviceId, name })
  const navigate = useNavigate()
  const block = useCommand('devices_Block', {
    deletes: input => input.deviceId,
    invalidates: ['projects_QueryDevices', 'projects_GetSummary', 'projects_GetDetails'],
    onSuccess: () => navigate({ from: DEVICE_PAGE, to: '..', replace: true }),
  })
  return (
    <DangerZone id="dz">
      <DangerLine
        name="Delete Device"
        consequence="Removes the device with its certificates, properties and events. A device that still runs returns at once as a new one, or asks for approval again. You can undo the deletion for 10 seconds."
        icon={Trash2}
        busyLabel="Deleting…"
        act={remove}
        failure="Could not delete the device"
      />
      <DangerLine
        name="Block and Delete"
        consequence="Removes the device, and refuses its fingerprint and its certificates in this project from then on. The settings of the project list blocked devices, and unblock them."
        icon={Ban}
        busyLabel="Blocking…"
        question={questionOf(name, certificates)}
        act={async () => {
          await block.mutateAsync({ deviceId })
          toast(`${name} is blocked and deleted. The settings of the project can unblock it.`)
        }}
        failure="Could not block the device"
      />
    </DangerZone>
  )
}

/** Question before a block. It names the other devices that have a certificate of this one, because such a certificate is not refused. */
function questionOf(name: string, certificates: readonly Certificate[]): string {
  const shared = certificates.filter(({ sharedWith }) => sharedWith)
  const question = `Are you sure you want to block and delete ${name}?`
  if (shared.length === 0)
    return `${question} Its fingerprint and its certificates are refused in this project from then on.`
  const refused =
    shared.length < certificates.length
      ? 'Its fingerprint and the certificates that only it has are refused'
      : 'Only its fingerprint is refused'
  return `${question} ${refused} in this project from then on. ${shared.map(sentenceOf).join(' ')}`
}

function sentenceOf({ sharedWith = [], sharedCount = sharedWith.length }: Certificate): string {
  const more = sharedCount - sharedWith.length
  const others = sharedCount >= MAX_SHARED ? 'others' : `${formatCount(more)} more`
  const names = [...sharedWith.map(deviceNameText), ...(more > 0 ? [others] : [])]
  return `Other devices have the same certificate: ${names.join(', ')}.`
}

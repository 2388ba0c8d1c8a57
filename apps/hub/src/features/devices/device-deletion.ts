import type { DeviceRegistry } from '../../link/links/registry.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

/**
 * Deletes a device and closes its connections after the commit. The job `devices_SweepHistory` removes its history. Throws for a device
 * that no longer exists.
 */
export async function deleteDevice(
  { tx, events, changed, afterCommit }: Pick<CommandTransaction, 'tx' | 'events' | 'changed' | 'afterCommit'>,
  devices: DeviceRegistry,
  { deviceId, projectId }: { deviceId: string; projectId: string },
): Promise<void> {
  const { name, hostname } = await tx
    .deleteFrom('device')
    .where('device_id', '=', deviceId)
    .returning(['name', 'hostname'])
    .executeTakeFirstOrThrow()
  await events.emit(
    'devices_Deleted',
    { deviceId, projectId },
    { old: { name: name ?? undefined, hostname: hostname || undefined } },
  )
  afterCommit(() => devices.endRight({ deviceId }, 'this device was deleted'))
  changed('devices')
}

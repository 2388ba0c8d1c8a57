import type { CommandContext } from '../../platform/pipeline/command-context.ts'

/** Deletes a device and closes its connections. Returns what identified it. The job `devices_SweepHistory` removes its history. */
export async function deleteDevice(
  { tx, scope, services, events, changed, afterCommit, enqueue }: CommandContext,
  deviceId: string,
) {
  const deleted = await tx
    .deleteFrom('device')
    .where('device_id', '=', deviceId)
    .returning(['name', 'hostname', 'fingerprint_id', 'fingerprint_hash'])
    .executeTakeFirstOrThrow()
  await events.emit(
    'devices_Deleted',
    { deviceId, projectId: scope.projectId! },
    { old: { name: deleted.name ?? undefined, hostname: deleted.hostname || undefined } },
  )
  afterCommit(() => services.devices.endRight({ deviceId }, 'this device was deleted'))
  changed('devices')
  await enqueue('devices_SweepHistory', {})
  return deleted
}

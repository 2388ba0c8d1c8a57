import { handler } from '../../handler.ts'

/** Sets the name of a device, or removes it. */
export const devices_SetName = handler(
  'devices_SetName',
  async ({ tx, events, scope, changed }, { deviceId, name }) => {
    await tx
      .updateTable('device')
      .set({ name: name ?? null })
      .where('device_id', '=', deviceId)
      .returning('device_id')
      .executeTakeFirstOrThrow()
    await events.emit('devices_NameChanged', {
      projectId: scope.projectId!,
      deviceId,
      ...(name !== undefined && { name }),
    })
    changed('devices')
    return {}
  },
)

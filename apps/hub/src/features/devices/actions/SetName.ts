import { handler } from '../../../platform/pipeline/handler.ts'

/** Sets the name of a device, or removes it. */
export const devices_SetName = handler(
  'devices_SetName',
  async ({ tx, events, scope, changed }, { deviceId, name }) => {
    const before = await tx
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select('name')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('device')
      .set({ name: name ?? null })
      .where('device_id', '=', deviceId)
      .execute()
    await events.emit(
      'devices_NameChanged',
      { projectId: scope.projectId!, deviceId, ...(name !== undefined && { name }) },
      { old: { name: before.name ?? undefined } },
    )
    changed('devices')
    return {}
  },
)

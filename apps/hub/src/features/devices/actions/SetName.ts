import { nameKey } from '@muster/predicates/name-key'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Sets the name of a device, or removes it. */
export const devices_SetName = handler(
  'devices_SetName',
  async ({ tx, events, scope, changed }, { deviceId, name }) => {
    const before = await tx
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select(['name', 'hostname'])
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('device')
      .set({ name: name ?? null, name_key: nameKey(name ?? before.hostname ?? '') })
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

import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Removes a block. The device may connect again, as a new one. */
export const projects_UnblockDevice = handler(
  'projects_UnblockDevice',
  async ({ tx, events, changed }, { projectId, blockId }) => {
    const block = await tx
      .deleteFrom('device_block')
      .where('block_id', '=', blockId)
      .where('project_id', '=', projectId)
      .returning(['device_id', 'name', 'hostname'])
      .executeTakeFirst()
    if (!block) throw refusal()
    const { device_id: deviceId, name, hostname } = block
    await events.emit(
      'projects_DeviceUnblocked',
      { projectId, deviceId, blockId },
      { old: { name: name ?? undefined, hostname: hostname || undefined } },
    )
    changed('devices', { deviceId })
    return {}
  },
)

import { sql } from 'kysely'
import { deleteDevices } from '../../database/deletion.ts'
import { handler } from '../../handler.ts'

export const devices_Delete = handler(
  'devices_Delete',
  async ({ tx, events, scope, changed, afterCommit, services }, { deviceId }) => {
    await deleteDevices(tx, sql`device_id = ${deviceId}`)
    await events.emit('devices_Deleted', { deviceId, projectId: scope.projectId! })
    afterCommit(() => services.devices.closeWhere({ deviceId }, 'this device was deleted'))
    changed('devices')
    return {}
  },
)

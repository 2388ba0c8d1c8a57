import { handler } from '../../handler.ts'

/** Deletes a device and closes its connections. The job `devices_SweepHistory` removes its history. */
export const devices_Delete = handler(
  'devices_Delete',
  async ({ tx, events, scope, changed, enqueue, afterCommit, services }, { deviceId }) => {
    await tx
      .deleteFrom('device')
      .where('device_id', '=', deviceId)
      .returning('device_id')
      .executeTakeFirstOrThrow()
    await enqueue('devices_SweepHistory', {})
    await events.emit('devices_Deleted', { deviceId, projectId: scope.projectId! })
    afterCommit(() => services.devices.closeWhere({ deviceId }, 'this device was deleted'))
    changed('devices')
    return {}
  },
)

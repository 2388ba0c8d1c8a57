import { ActionError } from '@muster/actions'
import { handler } from '../../handler.ts'

/**
 * Deletes a device and closes its connections. The job `devices_SweepHistory` removes its history. A console sends the deletion some
 * seconds after the click, and its browser may hold the session of another person by then. `askedByUserId` refuses that.
 */
export const devices_Delete = handler(
  'devices_Delete',
  async (
    { tx, caller, events, scope, changed, enqueue, afterCommit, services },
    { deviceId, askedByUserId },
  ) => {
    if (askedByUserId !== undefined && !(caller.actor === 'User' && caller.userId === askedByUserId)) {
      throw new ActionError(
        'Forbidden',
        'Another person asked for this deletion than the one who is signed in. Delete the device again.',
      )
    }
    const { name, hostname } = await tx
      .deleteFrom('device')
      .where('device_id', '=', deviceId)
      .returning(['name', 'hostname'])
      .executeTakeFirstOrThrow()
    await enqueue('devices_SweepHistory', {})
    await events.emit(
      'devices_Deleted',
      { deviceId, projectId: scope.projectId! },
      { old: { name: name ?? undefined, hostname: hostname || undefined } },
    )
    afterCommit(() => services.devices.closeWhere({ deviceId }, 'this device was deleted'))
    changed('devices')
    return {}
  },
)

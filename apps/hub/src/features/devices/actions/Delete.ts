import { requireAskingSession } from '../../../platform/access/asking-session.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/**
 * Deletes a device and closes its connections. The job `devices_SweepHistory` removes its history. A console sends the deletion some
 * seconds after the click, so that the person can undo it. In these seconds another person may sign in to the browser. `askedBy` names
 * the session of the click, and the hub refuses the deletion from any other session.
 */
export const devices_Delete = handler(
  'devices_Delete',
  async ({ tx, caller, scope, services, events, changed, afterCommit, enqueue }, { deviceId, askedBy }) => {
    requireAskingSession(caller, askedBy, 'Delete the device again.')
    const { name, hostname } = await tx
      .deleteFrom('device')
      .where('device_id', '=', deviceId)
      .returning(['name', 'hostname'])
      .executeTakeFirstOrThrow()
    await events.emit(
      'devices_Deleted',
      { deviceId, projectId: scope.projectId! },
      { old: { name: name ?? undefined, hostname: hostname || undefined } },
    )
    afterCommit(() => services.devices.endRight({ deviceId }, 'this device was deleted'))
    changed('devices')
    await enqueue('devices_SweepHistory', {})
    return {}
  },
)

import { requireAskingPerson } from '../../access/asking-person.ts'
import { deleteDevice } from '../../database/queries/devices/device-deletion.ts'
import { handler } from '../../handler.ts'

/**
 * Deletes a device and closes its connections. The job `devices_SweepHistory` removes its history. A console sends the deletion some
 * seconds after the click, and its browser may hold the session of another person by then. `askedByUserId` refuses that.
 */
export const devices_Delete = handler('devices_Delete', async (context, { deviceId, askedByUserId }) => {
  const { caller, scope, services, enqueue } = context
  requireAskingPerson(caller, askedByUserId, 'Delete the device again.')
  await deleteDevice(context, services.devices, { deviceId, projectId: scope.projectId! })
  await enqueue('devices_SweepHistory', {})
  return {}
})

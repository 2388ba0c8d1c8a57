import { requireAskingSession } from '../../../platform/access/asking-session.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { deleteDevice } from '../deletion.ts'

/**
 * Deletes a device and closes its connections. A console sends the deletion some seconds after the click, so that the person can undo it.
 * In these seconds another person may sign in to the browser. `askedBy` names the session of the click, and the hub refuses the deletion
 * from any other session.
 */
export const devices_Delete = handler('devices_Delete', async (context, { deviceId, askedBy }) => {
  requireAskingSession(context.caller, askedBy, 'Delete the device again.')
  await deleteDevice(context, deviceId)
  return {}
})

import { ActionError } from '@muster/actions'
import { addDevice, EMPTY_FINGERPRINT } from '../../../link/gateway/devices.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Registers a device by its fingerprint before it connects. */
export const devices_Create = handler(
  'devices_Create',
  async ({ tx, events, changed }, { projectId, fingerprint }) => {
    if (fingerprint === EMPTY_FINGERPRINT)
      throw new ActionError('Invalid', 'This is the fingerprint of a script that printed nothing.')
    const deviceId = await addDevice(tx, projectId, fingerprint)
    if (deviceId === undefined)
      throw new ActionError('Invalid', 'The project has a device with this fingerprint already.', {
        status: 409,
      })
    await events.emit('devices_Created', { deviceId, projectId })
    changed('devices', { deviceId })
    return { deviceId }
  },
)

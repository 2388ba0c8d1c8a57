import { ActionError } from '@muster/actions'
import { isFingerprintBlocked } from '../../../link/gateway/device-blocks.ts'
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
    // Read after the row of the device is there: a block deletes that row first.
    if (await isFingerprintBlocked(tx, projectId, fingerprint))
      throw new ActionError(
        'Invalid',
        'This device is blocked in the project: remove the block in the settings of the project first.',
        { status: 409 },
      )
    await events.emit('devices_Created', { deviceId, projectId })
    changed('devices', { deviceId })
    return { deviceId }
  },
)

import { newDatedId } from '@muster/actions'
import type { FakeDevice } from './fake-device.ts'

/** States and events of one update in the order of the published update scripts (docs/protocol.md 9). */
const STEPS = [
  ['installing', 'checking for updates'],
  ['installing', 'update available, installing'],
  ['installing', 'installing update'],
  ['rebooting', 'update installed, rebooting'],
  ['committing', 'committing system'],
  ['completed', 'update completed'],
] as const

/**
 * Writes the properties and events of one update like the published update scripts: the status before each step and an event
 * after it. Rejects at the first refused write, where the scripts would stop. Resolves to the last stored state.
 */
export async function writeUpdate({ deviceId, invoke }: FakeDevice): Promise<unknown> {
  const name = 'dev.nexigon.ota.status'
  await invoke('devices_GetProperty', { deviceId, name: 'dev.nexigon.ota.config' })
  await invoke('devices_GetProperty', { deviceId, name })
  for (const [state, body] of STEPS) {
    const value = {
      config: { path: 'firmware/system/stable' },
      currentVersion: '1.0',
      targetVersion: '1.1',
      state,
      lastError: null,
    }
    await invoke('devices_SetProperty', { deviceId, name, value })
    const event = {
      eventId: newDatedId('d_ev'),
      category: 'org.rugix.ota',
      severity: 'Info',
      body,
      attributes: { path: 'firmware/system/stable' },
      emittedAt: new Date().toISOString(),
    }
    await invoke('devices_PublishEvents', { deviceId, events: [event] })
  }
  const stored = (await invoke('devices_GetProperty', { deviceId, name })) as { value: { state: unknown } }
  return stored.value.state
}

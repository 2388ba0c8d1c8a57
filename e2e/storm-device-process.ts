// Started by tests in a network namespace: a device that publishes events, and reports about them to its parent.
import { StormDevice } from './storm-device.ts'

/** Hub and token of the device. The second message ends the device. */
export type StormOrder = { url: string; token: string }
/** Progress that the process sends every `TELL_MS` milliseconds. */
export type StormState = { deviceId: string; acknowledged: string[]; absencesMs: number[] }

const TELL_MS = 100
/** Pause between two events, in milliseconds. */
const PAUSE_MS = 100

process.once('message', (order: StormOrder) => void start(order))
process.once('disconnect', () => process.exit())

async function start({ url, token }: StormOrder): Promise<void> {
  const device = await StormDevice.connect(url, token)
  void device.report(PAUSE_MS)
  void device.stay()
  setInterval(() => {
    const { deviceId, acknowledged, absencesMs } = device
    process.send!({ deviceId, acknowledged, absencesMs } satisfies StormState)
  }, TELL_MS)
}

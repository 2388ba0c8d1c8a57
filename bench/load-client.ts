// The load client, forked by a bench: devices over real sockets. Messages in: {connect} {publish} {close}; one answer each.
import { newDatedId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import { connectDevice, type DeviceIdentity, deviceIdentity, type FakeDevice } from '@muster/testkit/device'

type Connect = { url: string; token: string; count: number; parallel: number }
type Publish = { secs: number; devices: number; window: number }
type Command = { connect: Connect } | { publish: Publish } | { close: true }

const devices: FakeDevice[] = []

process.on('message', (command: Command) => {
  run(command).then(
    result => process.send!({ result }),
    error => process.send!({ error: String(error) }),
  )
})

async function run(command: Command): Promise<unknown> {
  if ('connect' in command) return connect(command.connect)
  if ('publish' in command) return publish(command.publish)
  await Promise.all(devices.map(device => device[Symbol.asyncDispose]()))
  setImmediate(() => process.disconnect())
  return {}
}

/** Connects devices, each new to the hub; they share one certificate, whose making is not what is measured. */
async function connect({ url, token, count, parallel }: Connect): Promise<{ secs: number }> {
  const { certificatePem } = await deviceIdentity()
  const identities: DeviceIdentity[] = []
  for (let at = 0; at < count; at++)
    identities.push({ fingerprint: (await deviceIdentity()).fingerprint, certificatePem })
  const started = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    for (let identity = identities[next++]; identity; identity = identities[next++]) {
      devices.push(await connectDevice({ url, token, identity }))
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return { secs: (performance.now() - started) / 1000 }
}

/** Publishes 200-byte events, `window` a call and one call after the other on each device; counts what was acknowledged. */
async function publish(
  load: Publish,
): Promise<{ acknowledged: number; secs: number; p50Ms: number; p99Ms: number }> {
  const body = 'x'.repeat(200)
  const latencies: number[] = []
  let acknowledged = 0
  const started = performance.now()
  const end = started + load.secs * 1000
  const worker = async ({ deviceId, link }: FakeDevice): Promise<void> => {
    const executor = new ExecutorClient(await link.open('executor'))
    while (performance.now() < end) {
      const emittedAt = new Date().toISOString()
      const events = Array.from({ length: load.window }, () => ({
        eventId: newDatedId('d_ev'),
        severity: 'Info',
        category: 'bench',
        body,
        attributes: {},
        emittedAt,
      }))
      const sent = performance.now()
      await executor.invoke('devices_PublishEvents', { deviceId, events })
      latencies.push(performance.now() - sent)
      acknowledged += load.window
    }
    executor.close()
  }
  await Promise.all(devices.slice(0, load.devices).map(worker))
  latencies.sort((a, b) => a - b)
  const quantile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    acknowledged,
    secs: (performance.now() - started) / 1000,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}

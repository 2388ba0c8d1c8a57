// A device built from the agent's modules. It forwards to local ports, and publishes events on a fixed schedule. Forked by a
// bench. Arguments: URL of the hub, deployment token.
import '../apps/agent/src/young-heap.ts'
import { newDatedId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import { createDeviceCertificate } from '../apps/agent/src/certificate.ts'
import { ForwardService } from '../apps/agent/src/forward.ts'
import { connectToHub } from '../apps/agent/src/hub-connection.ts'
import { createLog } from '../apps/agent/src/log.ts'
import { answering, quantile } from './child.ts'

export type DeviceReady = { deviceId: string }
export type EventsRun = { p50Ms: number; p99Ms: number; count: number }

const [hubUrl, token] = process.argv.slice(2) as [string, string]
const forwards = new ForwardService({ log: createLog({ level: 'warn' }) })
const { link } = await connectToHub(
  {
    hubUrl,
    token,
    fingerprint: `d_sk_${'1'.repeat(44)}`,
    certificate: createDeviceCertificate(),
    acceptInvalidCertificates: true,
  },
  { isRegistered: true, onRequest: request => forwards.handle(request) },
)
const executor = new ExecutorClient(await link.open('executor'))
const { actor } = (await executor.invoke('actor_GetActor', {})) as { actor: DeviceReady }
/** Publishes events with a body of 200 bytes, one per call, on a schedule. Latency is measured from the time a call was due. */
answering<{ perSec: number; secs: number }>(async ({ perSec, secs }): Promise<EventsRun> => {
  const latencies: number[] = []
  const body = 'x'.repeat(200)
  const from = performance.now()
  const all: Promise<void>[] = []
  for (let n = 0; n < perSec * secs; n++) {
    const due = from + (n * 1000) / perSec
    const early = due - performance.now()
    if (early > 0) await new Promise(done => setTimeout(done, early))
    const event = { eventId: newDatedId('d_ev'), severity: 'Info', category: 'bench', body, attributes: {} }
    const events = [{ ...event, emittedAt: new Date().toISOString() }]
    const sent = executor.invoke('devices_PublishEvents', { deviceId: actor.deviceId, events })
    all.push(sent.then(() => void latencies.push(performance.now() - due)))
  }
  await Promise.all(all)
  latencies.sort((a, b) => a - b)
  return { p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99), count: latencies.length }
}, actor)

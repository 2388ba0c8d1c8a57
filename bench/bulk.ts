import { createClient } from '@muster/actions'
import { median } from './child.ts'
import { signIn, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const ITEMS = 10_000
const DEVICES = 100
const EVENTS_PER_SEC = 500
const SECS = 6
const ROUNDS = 3

/**
 * Accepts 10,000 pending certificates with one bulk action, beside 100 devices that publish 500 events per second. The p99 of their events
 * may be at most twice the p99 without it.
 */
export async function bulk(): Promise<void> {
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'error' })
  const cookie = await signIn(hub)
  const person = createClient({ baseUrl: hub.url, headers: { cookie, origin: hub.url } })
  const { organizations } = await person('organizations_Query', {})
  const { projects } = await person('organizations_QueryProjects', organizations[0]!)
  const { projectId } = projects[0]!
  const clients = startLoadClient()
  await clients.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 16 } })
  const publish = (secs: number) =>
    clients.ask<PublishRun>({ schedule: { secs, devices: DEVICES, perSec: EVENTS_PER_SEC } })
  await publish(2)
  const alone: number[] = []
  for (let round = 0; round < ROUNDS; round++) alone.push((await publish(SECS)).p99Ms)
  report('events alone', `p99 ${median(alone).toFixed(1)} ms`)

  /** Makes pending certificates and previews their acceptance; resolves to its id. */
  const prepare = async (round: number): Promise<string> => {
    await hub.query(
      `with made as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, pending_certificates)
         select 'd_' || left(translate(md5($3 || ' ' || i), '0', 'z'), 22), $1, 'd_pk_' || left(md5($3 || ' ' || i), 22),
                sha256(($3 || ' ' || i)::bytea), 1 from generate_series(1, $2::int) i returning device_id
       )
       insert into device_certificate (certificate_id, device_id, fingerprint, status)
       select 'd_c_' || substr(device_id, 3), device_id, upper(md5(device_id)), 'Pending' from made`,
      [projectId, ITEMS, String(round)],
    )
    await hub.query('vacuum analyze device, device_certificate')
    await hub.query('checkpoint')
    const { bulkActionId } = await person('devices_CreateBulkDecision', {
      projectId,
      decision: 'Accept',
      selection: { kind: 'filter', filter: {} },
    })
    return bulkActionId
  }
  /** Resolves to the time from the start to the end of a bulk action, in milliseconds. */
  const run = async (bulkActionId: string): Promise<number> => {
    const startedMs = performance.now()
    await person('devices_StartBulkDecision', { projectId, bulkActionId })
    for (;;) {
      const { status, succeededCount } = await person('devices_GetBulkAction', { projectId, bulkActionId })
      if (status === 'Completed' && succeededCount === ITEMS) return performance.now() - startedMs
      if (status !== 'Running') throw new Error(`found ${status} with ${succeededCount} done`)
      await new Promise(done => setTimeout(done, 50))
    }
  }
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await run(await prepare(round)))
  const beside: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const bulkActionId = await prepare(ROUNDS + round)
    const [events] = await Promise.all([publish(SECS), run(bulkActionId)])
    beside.push(events.p99Ms)
  }
  const timeMs = median(times)
  reportGoal(
    '',
    `${ITEMS} accepted certificates`,
    `${(timeMs / 1000).toFixed(1)} s`,
    '<= 6.0 s',
    timeMs <= 6_000,
  )
  const ratio = median(beside) / median(alone)
  reportGoal(
    '',
    'events beside it',
    `p99 ${median(beside).toFixed(1)} ms, x${ratio.toFixed(2)}`,
    '<= x2.00',
    ratio <= 2,
  )
  await clients.end()
}

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

type Person = ReturnType<typeof createClient>

/** A kind of bulk action: what it does to 10,000 devices, each with a pending certificate, and in how many seconds. */
type Measured = {
  words: string
  goalSecs: number
  /** Previews it for the devices of a filter; resolves to the id of the bulk action. */
  preview: (person: Person, projectId: string, filter: { text: string }) => Promise<{ bulkActionId: string }>
  start: (person: Person, ids: { projectId: string; bulkActionId: string }) => Promise<unknown>
}

/**
 * Accepts 10,000 pending certificates with one bulk action, beside 100 devices that publish 500 events per second. The p99 of their events
 * may be at most twice the p99 without it.
 */
export function bulk(): Promise<void> {
  return measure({
    words: 'accepted certificates',
    goalSecs: 6,
    preview: (person, projectId, filter) =>
      person('devices_CreateBulkDecision', {
        projectId,
        decision: 'Accept',
        selection: { kind: 'filter', filter },
      }),
    start: (person, ids) => person('devices_StartBulkDecision', ids),
  })
}

/** Sets a label of 10,000 devices with one bulk action, like `bulk`. */
export function bulkLabels(): Promise<void> {
  return measure({
    words: 'labels',
    goalSecs: 8,
    preview: (person, projectId, filter) =>
      person('devices_CreateBulkLabels', {
        projectId,
        selection: { kind: 'filter', filter },
        set: { site: 'pier4' },
      }),
    start: (person, ids) => person('devices_StartBulkChange', ids),
  })
}

async function measure({ words, goalSecs, preview, start }: Measured): Promise<void> {
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

  /** Makes devices with pending certificates and previews the bulk action; resolves to its id. */
  const prepare = async (round: number): Promise<string> => {
    await hub.query(
      `with made as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, pending_certificates, hostname)
         select 'd_' || left(translate(md5($3 || ' ' || i), '0', 'z'), 22), $1, 'd_pk_' || left(md5($3 || ' ' || i), 22),
                sha256(($3 || ' ' || i)::bytea), 1, 'round-' || $3 from generate_series(1, $2::int) i returning device_id
       )
       insert into device_certificate (certificate_id, device_id, fingerprint, status)
       select 'd_c_' || substr(device_id, 3), device_id, upper(md5(device_id)), 'Pending' from made`,
      [projectId, ITEMS, String(round)],
    )
    await hub.query('vacuum analyze device, device_certificate')
    await hub.query('checkpoint')
    const { bulkActionId } = await preview(person, projectId, { text: `round-${round}` })
    return bulkActionId
  }
  /** Resolves to the time from the start to the end of a bulk action, in milliseconds. */
  const run = async (bulkActionId: string): Promise<number> => {
    const startedMs = performance.now()
    await start(person, { projectId, bulkActionId })
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
    `${ITEMS} ${words}`,
    `${(timeMs / 1000).toFixed(1)} s`,
    `<= ${goalSecs.toFixed(1)} s`,
    timeMs <= goalSecs * 1000,
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

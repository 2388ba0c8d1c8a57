import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, type Invoke, newId, publicIdOf } from '@muster/actions'
import { connectDevice } from '@muster/testkit/device'
import { hashSecret } from '../apps/hub/src/platform/credentials/secrets.ts'
import { freePort } from '../testkit/src/free-port.ts'
import { ask, forked, median, quantile } from './child.ts'
import type { HostileCommand } from './hostile-client.ts'
import { HOSTILE_ADDRESS, type HostileKind, type HostileRun, type HostileTarget } from './hostile-kind.ts'
import { HOSTILE_KINDS } from './hostile-kinds.ts'
import { type BenchHub, signIn, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const ROUNDS = 3
const SECS = 6
const DEVICES = 100
const EVENTS_PER_SEC = 500
/** Normal callers of actions, each of which waits for its answer before the next call. */
const PEOPLE = 4
/** Pause of a normal caller between two actions, in milliseconds. */
const THINK_MS = 20
/**
 * Head start of the hostile caller, in seconds. In this time it uses up the bursts that the hub's limits allow, so that the steady state is
 * measured.
 */
const HEAD_START_SECS = 3
/** Length in characters of a large value that a normal device sets. The hub has to assemble the value from several frames. */
const NORMAL_LARGE_VALUE = 128 * 1024
const LOOPBACK_HUB = join(import.meta.dirname, 'loopback-hub.ts')
const OPERATOR_TOKEN = 'an-operator-token-of-32-characters'

/** Times and refusals of the normal callers in one measurement. */
type Normal = { eventsMs: number; actionsMs: number; signInMs: number; refusals: string[] }

/**
 * Runs one hostile caller of each kind beside 100 normal devices and 4 normal people and measures its effect on them. The p99 of their
 * events and actions may be at most twice the p99 without the hostile caller, and nothing of theirs may be refused. `only` is a part of
 * the names of the kinds to run.
 */
export async function hostile(only = ''): Promise<void> {
  const kinds = HOSTILE_KINDS.filter(({ name }) => name.includes(only))
  const operatorPort = await freePort()
  const settings = {
    MUSTER_LOG_LEVEL: 'error',
    MUSTER_OPERATOR_PORT: String(operatorPort),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
  }
  await using hub = await startBenchHub(settings, undefined, LOOPBACK_HUB)
  const devices = startLoadClient()
  await devices.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 16 } })
  await using device = await connectDevice({ url: hub.url, token: hub.token })
  const cookie = await signIn(hub)
  const person = createClient({ baseUrl: hub.url, headers: { cookie, origin: hub.url } })
  const { organizations } = await person('organizations_Query', {})
  const { organizationId } = organizations[0]!
  const target = await hostilePerson(hub, organizationId)
  const { child: client } = await forked('hostile-client.ts')
  const command = <Result>(one: HostileCommand): Promise<Result> => ask<Result>(client, one)

  /** Measures the normal callers once. */
  async function normal(): Promise<Normal> {
    const refusals: string[] = []
    const note = (what: string) => (error: unknown) => {
      refusals.push(`${what}: ${String(error)}`)
      return Number.NaN
    }
    const schedule = { schedule: { secs: SECS, devices: DEVICES, perSec: EVENTS_PER_SEC } }
    const started = performance.now()
    const [eventsMs, actionsMs, signInMs] = await Promise.all([
      devices.ask<PublishRun>(schedule).then(({ p99Ms }) => p99Ms, note('events')),
      actions(person, organizationId, note('an action')),
      signIn(hub).then(() => performance.now() - started, note('sign-in')),
      healthy(hub.url).catch(note('a health check')),
      healthy(hub.url, HOSTILE_ADDRESS).catch(note('a health check from the hostile address')),
      device
        .invoke('devices_SetProperty', {
          deviceId: device.deviceId,
          name: 'large',
          value: 'x'.repeat(NORMAL_LARGE_VALUE),
        })
        .catch(note('a large value')),
    ])
    return { eventsMs, actionsMs, signInMs, refusals }
  }

  await normal()
  const alone: Normal[] = []
  const beside = new Map(kinds.map(kind => [kind, [] as Normal[]]))
  const runs = new Map<HostileKind, HostileRun>()
  const grown = new Map<HostileKind, number>()
  const most = new Map<HostileKind, string>()
  const databaseBytes = async (): Promise<number> =>
    Number((await hub.query('select pg_database_size(current_database()) as bytes'))[0]!.bytes)
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await normal())
    for (const kind of kinds) {
      const before = await databaseBytes()
      await command({ start: { name: kind.name, target } })
      await pause(HEAD_START_SECS * 1000)
      beside.get(kind)!.push(await normal())
      most.set(kind, await mostConnections(operatorPort))
      runs.set(kind, await command<HostileRun>({ stop: true }))
      grown.set(kind, (grown.get(kind) ?? 0) + (await databaseBytes()) - before)
    }
  }

  const [eventsMs, actionsMs] = [p99(alone, 'eventsMs'), p99(alone, 'actionsMs')]
  report(
    'normal callers alone',
    `p99 of events ${eventsMs.toFixed(1)} ms, of actions ${actionsMs.toFixed(1)} ms`,
  )
  const reports = await reportsOf(hub)
  for (const kind of kinds) {
    const { accepted, refused, acceptedBytes, refusal } = runs.get(kind)!
    const runsBeside = beside.get(kind)!
    report(`a caller that ${kind.name}`, `${accepted} accepted (${mib(acceptedBytes)}), ${refused} refused`)
    if (refusal) report('', refusal)
    const signInMs = Math.max(...runsBeside.map(run => run.signInMs))
    report('', `database +${mib(grown.get(kind)!)} in ${ROUNDS} runs, sign-in ${signInMs.toFixed(0)} ms`)
    report('', `most connections: ${most.get(kind)}`)
    const refusals = runsBeside.flatMap(run => run.refusals)
    for (const one of refusals.slice(0, 5)) report('', one)
    const [events, calls] = [p99(runsBeside, 'eventsMs'), p99(runsBeside, 'actionsMs')]
    const ratio = Math.max(events / eventsMs, calls / actionsMs)
    reportGoal(
      '',
      'normal callers during the attack',
      `p99 of events ${events.toFixed(1)} ms, of actions ${calls.toFixed(1)} ms, x${ratio.toFixed(2)}, ${refusals.length} refused`,
      '<= x2.00, 0 refused',
      ratio <= 2 && refusals.length === 0,
    )
    if (kind.limit !== undefined) {
      const counts = reports.filter(({ limit }) => limit === kind.limit).map(({ count }) => count)
      const isOnce = counts.length > 0 && counts.every(count => count === 1)
      reportGoal(
        '',
        'reports of the limit',
        `${kind.limit}: ${counts.length} callers, at most ${Math.max(0, ...counts)} each`,
        '1 each',
        isOnce,
      )
    }
  }

  client.disconnect()
  await devices.end()
}

/** 99th percentile of the time of actions of normal people, in milliseconds. */
async function actions(
  invoke: Invoke,
  organizationId: string,
  note: (error: unknown) => void,
): Promise<number> {
  const times: number[] = []
  const end = performance.now() + SECS * 1000
  await Promise.all(
    Array.from({ length: PEOPLE }, async () => {
      while (performance.now() < end) {
        const started = performance.now()
        await invoke('organizations_QueryProjects', { organizationId, limit: 50 }).catch(note)
        times.push(performance.now() - started)
        await pause(THINK_MS)
      }
    }),
  )
  return quantile(
    times.toSorted((a, b) => a - b),
    0.99,
  )
}

/** Throws if a health check on a new connection, from `localAddress`, is not answered with 200. */
async function healthy(url: string, localAddress?: string): Promise<void> {
  const asked = get(`${url}/healthz`, { agent: false, localAddress })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
}

/** Creates the hostile person with a session, a user token and a package, without the time that a password takes. */
async function hostilePerson(hub: BenchHub, foreignOrganizationId: string): Promise<HostileTarget> {
  const [userId, userToken, session] = [newId('u'), newId('u_sk'), newId('u_session_sk')]
  await hub.query(`insert into "user" (user_id, email) values ($1, 'hostile@bench.example')`, [userId])
  await hub.query(
    `insert into user_token (token_id, token_hash, user_id, name) values ($1, $2, $3, 'hostile')`,
    [publicIdOf(userToken), hashSecret(userToken), userId],
  )
  await hub.query(
    `insert into session (session_id, token_hash, user_id, user_agent, expires_at)
     values ($1, $2, $3, 'bench', now() + interval '1 day')`,
    [publicIdOf(session), hashSecret(session), userId],
  )
  const invoke = createClient({ baseUrl: hub.url, headers: { authorization: `Bearer ${userToken}` } })
  const { organizationId } = await invoke('organizations_Create', { name: 'Hostile' })
  const repository = await invoke('repositories_Create', { organizationId, name: 'hostile' })
  if (repository.result !== 'Created') throw new Error(repository.result)
  const { repositoryId } = repository
  const made = await invoke('repositories_CreatePackage', { repositoryId, name: 'hostile' })
  if (made.result !== 'Created') throw new Error(made.result)
  return {
    url: hub.url,
    deploymentToken: hub.token,
    userToken,
    cookie: `muster=${session}`,
    packageId: made.packageId,
    foreignOrganizationId,
  }
}

/** Reports of limits in the audit log, each with the number of reports for one subject. */
async function reportsOf(hub: BenchHub): Promise<{ limit: string; count: number }[]> {
  const rows = await hub.query(
    `select data->>'limit' as limit, count(*)::int as count
       from audit_event where event = 'limits_Reached'
      group by data->>'limit', data - 'count' - 'message'`,
  )
  return rows as { limit: string; count: number }[]
}

/** Text of the metric that has the most connections of one address, person, organization and device. */
async function mostConnections(operatorPort: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${operatorPort}/metrics`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  })
  const found = (await answer.text()).matchAll(/^muster_most_connections\{scope="(\w+)"\} (\d+)$/gm)
  return [...found].map(([, scope, count]) => `${scope} ${count}`).join(', ')
}

function p99(runs: Normal[], of: 'eventsMs' | 'actionsMs'): number {
  return median(runs.map(run => run[of]))
}

function mib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

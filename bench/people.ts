import { ask, forked, median } from './child.ts'
import type { HttpLoad, HttpRequest, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import { treeProcessorSecs } from './processes.ts'
import { report, reportGoal } from './yardsticks.ts'

const ROUNDS = 3
const SECS = 5
const NAMES = ['users_QueryTokens', 'devices_GetDetails', 'projects_GetDetails'] as const

/** A run with the CPU time per request, in microseconds, of the server process and of the database. */
type CostedRun = HttpRun & { serverMicrosecs: number; databaseMicrosecs: number }

/**
 * Measures actions by signed-in users, and sign-ins (docs/goals.md P7, P8 and the first half of P19). Compares each action with the
 * three SQL statements that it needs at least, in alternating measurements. Also measures sign-ins on a schedule and in one burst,
 * and their effect on other users' requests.
 */
export async function people(): Promise<void> {
  await using hub = await startBenchHub()
  const { child: client } = await forked('http-client.ts')
  const { child: other } = await forked('http-client.ts')
  const world = await prepare(hub)
  const { child: peer, ready } = await forked<{ port: number }>(
    'peer-server.ts',
    JSON.stringify({ connection: hub.database, sessionId: world.sessionId, projectId: world.projectId }),
  )
  const least: HttpRequest = { host: '127.0.0.1', port: ready.port, path: '/', headers: {}, body: '{}' }
  const actions: Record<(typeof NAMES)[number], HttpRequest> = {
    users_QueryTokens: action(hub, world, 'users_QueryTokens', { userId: world.userId }),
    devices_GetDetails: action(hub, world, 'devices_GetDetails', { deviceId: world.deviceId }),
    projects_GetDetails: action(hub, world, 'projects_GetDetails', { projectId: world.projectId }),
  }
  const costed = async (pid: number, load: HttpLoad): Promise<CostedRun> => {
    const used = (): [server: number, database: number] => [
      treeProcessorSecs(pid),
      treeProcessorSecs(hub.databasePid()),
    ]
    const before = used()
    const run = await ask<HttpRun>(client, load)
    const [server, database] = used().map((secs, at) => ((secs - before[at]!) / run.answers) * 1e6)
    // The database processes are children of the hub, so their CPU time is subtracted from the hub's.
    const serverMicrosecs = pid === hub.pid ? server! - database! : server!
    return { ...run, serverMicrosecs, databaseMicrosecs: database! }
  }

  // Warm up, so that compilation is not measured.
  for (const load of [least, ...Object.values(actions)])
    await ask(client, { ...load, connections: 32, secs: 2 })
  for (const connections of [32, 1]) {
    const leastRuns: CostedRun[] = []
    const runs = new Map(NAMES.map(name => [name, [] as CostedRun[]]))
    for (let round = 0; round < ROUNDS; round++) {
      leastRuns.push(await costed(peer.pid!, { ...least, connections, secs: SECS }))
      for (const name of NAMES)
        runs.get(name)!.push(await costed(hub.pid, { ...actions[name], connections, secs: SECS }))
    }
    const peerRun = middle(leastRuns)
    report(`3 statements, c=${connections}`, costedRunText(peerRun))
    for (const [name, own] of [...runs].map(([name, all]) => [name, middle(all)] as const)) {
      report(`${name}, c=${connections}`, costedRunText(own))
      const rate = own.perSec / peerRun.perSec
      const [p50, p99] = [own.p50Ms / peerRun.p50Ms, own.p99Ms / peerRun.p99Ms]
      if (connections > 1) {
        const share = peerRun.serverMicrosecs / own.serverMicrosecs
        const measured = `${rate.toFixed(2)} (by its processor time ${share.toFixed(2)}), p99 x${p99.toFixed(1)}`
        reportGoal('P7', name, measured, '>= 0.60, p99 <= x2.0', rate >= 0.6 && p99 <= 2)
      } else {
        const measured = `p50 x${p50.toFixed(1)}, p99 ${own.p99Ms.toFixed(1)} ms`
        reportGoal('P8', name, measured, 'p50 <= x4.0, p99 <= 5 ms', p50 <= 4 && own.p99Ms <= 5)
      }
    }
  }
  peer.disconnect()

  const signInRequest = requestTo(hub, '/api/private/login', { ...hub.signIn, remember: false })
  const scheduled = await costed(hub.pid, { ...signInRequest, connections: 20, secs: 10, perSec: 20 })
  report('sign-ins, 20 a second', costedRunText(scheduled))
  const p99 = scheduled.p99Ms
  reportGoal('P19', 'sign-ins, 20 a second', `p99 ${p99.toFixed(0)} ms`, 'p99 <= 150 ms', p99 <= 150)
  const atOnce = await costed(hub.pid, { ...signInRequest, connections: 20, secs: 10 })
  report('sign-ins, 20 at once', costedRunText(atOnce))
  const p95 = atOnce.p95Ms
  reportGoal('', 'sign-ins, 20 at once', `p95 ${p95.toFixed(0)} ms`, 'p95 <= 300 ms', p95 <= 300)

  const details: HttpLoad = { ...actions.projects_GetDetails, connections: 4, secs: 8, perSec: 100 }
  const alone = await ask<HttpRun>(other, details)
  const [beside] = await Promise.all([
    ask<HttpRun>(other, details),
    ask<HttpRun>(client, { ...signInRequest, connections: 20, secs: 8 }),
  ])
  report('others, alone', runText(alone))
  report('others, during 20 sign-ins', runText(beside))
  const slower = beside.p50Ms / alone.p50Ms
  reportGoal('', 'others, during 20 sign-ins', `p50 x${slower.toFixed(1)}`, '<= x2.0', slower <= 2)

  client.disconnect()
  other.disconnect()
}

type World = { cookie: string; userId: string; sessionId: string; projectId: string; deviceId: string }

/** Signs in as the first administrator and creates one device in their project. */
async function prepare(hub: BenchHub): Promise<World> {
  const cookie = await signIn(hub)
  const one = async (sql: string): Promise<string> => Object.values((await hub.query(sql))[0]!)[0] as string
  const projectId = await one('select project_id from project limit 1')
  const deviceId = 'd_1111111111111111111111'
  await hub.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
     values ('${deviceId}', '${projectId}', 'd_pk_1111111111111111111111', '\\x00')`,
  )
  return {
    cookie,
    userId: await one('select user_id from "user" limit 1'),
    sessionId: await one('select session_id from session limit 1'),
    projectId,
    deviceId,
  }
}

function action(hub: BenchHub, { cookie }: World, name: string, input: object): HttpRequest {
  return requestTo(hub, `/api/v1/actions/invoke/${name}`, input, cookie)
}

/** Median of each figure over the runs. */
function middle(runs: CostedRun[]): CostedRun {
  const figure = (key: 'perSec' | 'p50Ms' | 'p95Ms' | 'p99Ms' | 'serverMicrosecs' | 'databaseMicrosecs') =>
    median(runs.map(run => run[key]))
  return {
    ...runs[0]!,
    perSec: figure('perSec'),
    p50Ms: figure('p50Ms'),
    p95Ms: figure('p95Ms'),
    p99Ms: figure('p99Ms'),
    serverMicrosecs: figure('serverMicrosecs'),
    databaseMicrosecs: figure('databaseMicrosecs'),
  }
}

function costedRunText(run: CostedRun): string {
  return `${runText(run)}; processor time ${Math.round(run.serverMicrosecs)} us, database ${Math.round(run.databaseMicrosecs)} us`
}

/** Formats the figures of a run as text for one output row. */
export function runText({ perSec, p50Ms, p95Ms, p99Ms, statuses }: HttpRun): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  return `${Math.round(perSec)} per second, p50 ${p50Ms.toFixed(2)} ms, p95 ${p95Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (${answers.join(', ')})`
}

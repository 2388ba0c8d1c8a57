import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { type BenchHub, startBenchHub } from './hub-process.ts'

const TIME_LIMIT_MS = 10 * 60 * 1000
const ROUNDS = 3
const SECS = 5

/**
 * Actions by people and sign-ins (goals P7, P8, P19): how a request compares with the three statements that it needs at least,
 * measured in turns; sign-ins on a schedule and at once, and what they do to everybody else.
 */
export async function people(): Promise<void> {
  const limit = setTimeout(() => {
    process.stderr.write('time limit reached\n')
    process.exit(2)
  }, TIME_LIMIT_MS)
  await using hub = await startBenchHub()
  const client = fork(join(import.meta.dirname, 'http-client.ts'))
  const other = fork(join(import.meta.dirname, 'http-client.ts'))
  const world = await prepare(hub)
  const peer = await startPeer(hub, world)
  const hubPort = Number(new URL(hub.url).port)
  const action = (name: string, input: object): Omit<HttpLoad, 'connections' | 'secs'> => ({
    host: '127.0.0.1',
    port: hubPort,
    path: `/api/v1/actions/invoke/${name}`,
    headers: { cookie: world.cookie, origin: hub.url },
    body: JSON.stringify(input),
  })
  const peerLoad = { host: '127.0.0.1', port: peer.port, path: '/', headers: {}, body: '{}' }
  const actions = {
    users_QueryTokens: action('users_QueryTokens', { userId: world.userId }),
    devices_GetDetails: action('devices_GetDetails', { deviceId: world.deviceId }),
    projects_GetDetails: action('projects_GetDetails', { projectId: world.projectId }),
  }

  for (const connections of [32, 1]) {
    const peerRuns: HttpRun[] = []
    const hubRuns = new Map(Object.keys(actions).map(name => [name, [] as HttpRun[]]))
    for (let round = 0; round < ROUNDS; round++) {
      peerRuns.push(await run(client, { ...peerLoad, connections, secs: SECS }))
      for (const [name, load] of Object.entries(actions))
        hubRuns.get(name)!.push(await run(client, { ...load, connections, secs: SECS }))
    }
    const least = median(peerRuns)
    print(`3 statements, c=${connections}`, `${told(least)}`)
    for (const [name, runs] of hubRuns) {
      const own = median(runs)
      print(
        `${name}, c=${connections}`,
        `${told(own)}; ${(own.perSec / least.perSec).toFixed(2)} of the rate, p50 x${(own.p50Ms / least.p50Ms).toFixed(1)}, p99 x${(own.p99Ms / least.p99Ms).toFixed(1)}`,
      )
    }
  }
  peer.process.disconnect()

  const login: Omit<HttpLoad, 'connections' | 'secs'> = {
    host: '127.0.0.1',
    port: hubPort,
    path: '/api/private/login',
    headers: { origin: hub.url },
    body: JSON.stringify({ email: world.email, password: world.password, remember: false }),
  }
  const wrong = { ...login, body: JSON.stringify({ email: world.email, password: 'wrong password' }) }
  const scheduled = await run(client, { ...login, connections: 20, secs: 10, perSec: 20 })
  print('sign-ins, 20 a second', told(scheduled))
  const atOnce = await run(client, { ...login, connections: 20, secs: 10 })
  print('sign-ins, 20 at once', told(atOnce))

  const details = { ...actions.projects_GetDetails, connections: 4, secs: 8, perSec: 100 }
  const alone = await run(other, details)
  const [beside] = await Promise.all([
    run(other, details),
    run(client, { ...login, connections: 20, secs: 8 }),
  ])
  print('others, alone', told(alone))
  print('others, beside 20 sign-ins', `${told(beside)}; p50 x${(beside.p50Ms / alone.p50Ms).toFixed(1)}`)
  const [flooded, flood] = await Promise.all([
    run(other, details),
    run(client, { ...wrong, connections: 100, secs: 8, perSec: 500 }),
  ])
  print('others, beside a flood', `${told(flooded)}; p99 x${(flooded.p99Ms / alone.p99Ms).toFixed(1)}`)
  print('flood, 500 a second', told(flood))

  client.disconnect()
  other.disconnect()
  clearTimeout(limit)
}

type World = {
  email: string
  password: string
  cookie: string
  userId: string
  sessionId: string
  projectId: string
  deviceId: string
}

/** Signs in as the first administrator, and puts one device into their project. */
async function prepare(hub: BenchHub): Promise<World> {
  const { email, password } = hub.signIn
  const response = await fetch(`${hub.url}/api/private/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, remember: false }),
  })
  const cookie = response.headers.get('set-cookie')!.split(';')[0]!
  const one = async (sql: string): Promise<string> => Object.values((await hub.query(sql))[0]!)[0] as string
  const projectId = await one('select project_id from project limit 1')
  const deviceId = 'd_1111111111111111111111'
  await hub.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
     values ('${deviceId}', '${projectId}', 'd_pk_1111111111111111111111', '\\x00')`,
  )
  return {
    email,
    password,
    cookie,
    userId: await one('select user_id from "user" limit 1'),
    sessionId: await one('select session_id from session limit 1'),
    projectId,
    deviceId,
  }
}

async function startPeer(hub: BenchHub, { sessionId, projectId }: World) {
  const options = JSON.stringify({ connection: hub.database, sessionId, projectId })
  const server = fork(join(import.meta.dirname, 'peer-server.ts'), [options])
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  return { port, process: server }
}

function run(client: ChildProcess, load: HttpLoad): Promise<HttpRun> {
  return new Promise((done, failed) => {
    client.once('message', (answer: { result: HttpRun; error?: string }) =>
      answer.error ? failed(new Error(answer.error)) : done(answer.result),
    )
    client.send(load)
  })
}

/** The run with the middle rate. */
function median(runs: HttpRun[]): HttpRun {
  return runs.toSorted((a, b) => a.perSec - b.perSec)[Math.floor(runs.length / 2)]!
}

function told({ perSec, p50Ms, p95Ms, p99Ms, statuses }: HttpRun): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  return `${Math.round(perSec)} per second, p50 ${p50Ms.toFixed(2)} ms, p95 ${p95Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (${answers.join(', ')})`
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(28)} ${figure}\n`)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../testkit/src/free-port.ts'
import type { HttpRequest } from './http-client.ts'

const START_TIMEOUT_MS = 60_000

export type BenchHub = AsyncDisposable & {
  url: string
  token: string
  dataDir: string
  /** Process id of the hub, the parent of its database's processes. */
  readonly pid: number
  /** Credentials of the first administrator. */
  signIn: { email: string; password: string }
  /** Connection to the hub's database as its superuser. */
  readonly database: { host: string; user: string; password: string; database: string }
  /** Process id of the database server. */
  databasePid(): number
  /** Runs SQL on the hub's database. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Kills the hub with SIGKILL; resolves when it has exited. */
  kill(): Promise<void>
  /** Starts the hub again in the same folder after kill(). Resolves when it is ready. */
  start(): Promise<void>
}

/**
 * Starts the hub with its embedded database in a temporary folder; `settings` are added to its environment. `checkout` is the folder of
 * the hub's source, this one by default. `entry` is the file to run, the hub's entry file by default.
 */
export async function startBenchHub(
  settings: Record<string, string> = {},
  checkout = join(import.meta.dirname, '..'),
  entry = join(checkout, 'apps/hub/muster-hub.js'),
): Promise<BenchHub> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'))
  // The database runs under its own account, which must be able to enter the folder.
  await chmod(dataDir, 0o755)
  const port = await freePort()
  let hub: ChildProcess
  // The hub must not outlive this process. Node emits no `exit` event when a signal ends the process, so `bench/main.ts` handles
  // signals with `process.exit`.
  process.once('exit', () => hub.kill('SIGKILL'))
  const start = (): Promise<string> => {
    const env = { MUSTER_DATA_DIR: dataDir, MUSTER_PORT: String(port), MUSTER_LOG_LEVEL: 'warn', ...settings }
    hub = spawn(process.execPath, [entry], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return bannerOf(hub)
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (hub.exitCode !== null || hub.signalCode !== null) return
    const ended = once(hub, 'exit')
    hub.kill(signal)
    await ended
  }
  await start()
  const { admin } = JSON.parse(await readFile(join(dataDir, 'database.json'), 'utf8')) as { admin: string }
  const [major] = await readdir(join(dataDir, 'postgres'))
  const databaseDir = join(dataDir, 'postgres', major!)
  // The database server creates its socket in a new folder at each start. The path of the folder is therefore read at each use.
  const databaseNow = (): BenchHub['database'] => {
    const host = readFileSync(join(databaseDir, 'socket'), 'utf8')
    return { host, user: 'postgres', password: admin, database: 'muster' }
  }
  const { deploymentToken: token, ...signIn } = JSON.parse(
    await readFile(join(dataDir, 'initial-admin.json'), 'utf8'),
  ) as BenchHub['signIn'] & { deploymentToken: string }
  return {
    signIn,
    url: `${settings.MUSTER_TLS_CERT === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    token,
    dataDir,
    get pid() {
      return hub.pid!
    },
    get database() {
      return databaseNow()
    },
    databasePid: () => Number(readFileSync(join(databaseDir, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    async query(text, values) {
      const client = new pg.Client(databaseNow())
      await client.connect()
      try {
        return (await client.query(text, values)).rows
      } finally {
        await client.end()
      }
    },
    kill: () => end('SIGKILL'),
    start: async () => void (await start()),
    async [Symbol.asyncDispose]() {
      await end('SIGTERM')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Signs in as the first administrator; returns the session cookie. */
export async function signIn({
  url,
  signIn: { email, password },
}: Pick<BenchHub, 'url' | 'signIn'>): Promise<string> {
  const response = await fetch(`${url}/api/private/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, remember: false }),
  })
  if (!response.ok) throw new Error(`signing in answered ${response.status}: ${await response.text()}`)
  return response.headers.get('set-cookie')!.split(';')[0]!
}

/** Runs a statement that selects `count` and returns this number. */
export async function count(hub: BenchHub, sql: string): Promise<number> {
  return Number((await hub.query(sql))[0]!.count)
}

/** Number of events stored in the hub. */
export function countEvents(hub: BenchHub): Promise<number> {
  return count(hub, 'select count(*) from device_event')
}

/** Builds a POST request to the hub with the headers of a browser. */
export function requestTo(hub: BenchHub, path: string, input: object, cookie?: string): HttpRequest {
  return {
    host: '127.0.0.1',
    port: Number(new URL(hub.url).port),
    path,
    headers: { origin: hub.url, ...(cookie !== undefined && { cookie }) },
    body: JSON.stringify(input),
  }
}

/** Resolves to the hub's output when it contains the startup banner. */
export function bannerOf(hub: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let output = ''
    const timer = setTimeout(() => failed(new Error(`the hub did not start: ${output}`)), START_TIMEOUT_MS)
    hub.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (!output.includes('Stop with')) return
      clearTimeout(timer)
      done(output)
    })
    hub.once('exit', code => failed(new Error(`the hub ended with ${code}: ${output}`)))
  })
}

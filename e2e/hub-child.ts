import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Invoke } from '@muster/actions/client'
import { freePort } from '@muster/testkit/free-port'
import { until } from '@muster/testkit/until'
import pg from 'pg'

/** Entry file of the hub. */
export const MAIN = join(import.meta.dirname, '../apps/hub/muster-hub.js')

/** A temporary folder that every account may enter. It is removed on disposal. */
export type Folder = AsyncDisposable & { path: string }

export type HubChild = AsyncDisposable & {
  pid: number
  url: string
  port: number
  dataDir: string
  startedAt: number
  stdout(): string
  stderr(): string
  /** Lines of the log with this message. */
  logged(message: string): Record<string, unknown>[]
  /** Resolves when `/readyz` reports the hub as ready and the startup banner is printed. Rejects if the process ends earlier. */
  ready(): Promise<void>
  /** Resolves when the process has ended. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  kill(signal: NodeJS.Signals): void
}

export type HubChildOptions = {
  dataDir: string
  /** Entry file of another build of the hub. */
  main?: string
  port?: number
  env?: Record<string, string>
  options?: string[]
  account?: { uid: number; gid: number }
  /** Shell command to run first, such as `umask 077`. Afterwards the shell replaces itself by the hub with `exec`. */
  shell?: string
  /** Makes the hub the leader of its own process group, as an interactive shell does. */
  ownGroup?: boolean
}

/** Creates a temporary folder for the data of hubs. */
export async function newFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'muster-life-'))
  await chmod(path, 0o755)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/** Starts the hub as a child process and does not wait until it is ready. */
export async function spawnHub({
  dataDir,
  main = MAIN,
  port,
  env = {},
  options = [],
  account,
  shell = ':',
  ownGroup = false,
}: HubChildOptions): Promise<HubChild> {
  const ownPort = port ?? (await freePort())
  const startedAt = performance.now()
  const words = ['-c', `${shell}; exec "$0" "$@"`, process.execPath, main, ...options]
  const child = spawn('/bin/sh', words, {
    env: {
      PATH: process.env.PATH,
      MUSTER_DATA_DIR: dataDir,
      MUSTER_PORT: String(ownPort),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownGroup,
    ...account,
  })
  const stdout = textOf(child.stdout)
  const stderr = textOf(child.stderr)
  const exited = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  const url = `http://127.0.0.1:${ownPort}`
  return {
    pid: child.pid!,
    url,
    port: ownPort,
    dataDir,
    startedAt,
    stdout,
    stderr,
    exited,
    logged: message =>
      stderr()
        .split('\n')
        .filter(line => line.startsWith('{'))
        .map(line => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === message),
    async ready() {
      await until(
        'the hub is ready',
        async () => {
          if (isOver()) throw new Error(`the hub ended: ${stderr()}`)
          const response = await fetch(`${url}/readyz`).catch(() => undefined)
          return response?.ok
        },
        60_000,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${stdout()}\n${stderr()}`)
      })
      await until('the startup banner is printed', () => stdout().includes('Stop with Ctrl-C.'))
    },
    kill: signal => void (isOver() || child.kill(signal)),
    async [Symbol.asyncDispose]() {
      if (!isOver()) child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Starts the hub as a child process and waits until it is ready. A hub that is not ready in time is ended. */
export async function startedHub(options: HubChildOptions): Promise<HubChild> {
  await using resources = new AsyncDisposableStack()
  const hub = resources.use(await spawnHub(options))
  await hub.ready()
  resources.move()
  return hub
}

function textOf(stream: NonNullable<ChildProcess['stdout']>): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** Credentials of the first administrator, from the file that the hub wrote at its first start. */
export async function adminOf(
  dataDir: string,
): Promise<{ url: string; email: string; password: string; deploymentToken: string }> {
  return JSON.parse(await readFile(join(dataDir, 'initial-admin.json'), 'utf8'))
}

/** Signs in as the first administrator and resolves to the session cookie. Throws if the hub refuses. */
export async function sessionOf({ url, dataDir }: HubChild): Promise<string> {
  const { email, password } = await adminOf(dataDir)
  const response = await fetch(`${url}/api/private/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!response.ok) throw new Error(`signing in answered ${response.status}: ${await response.text()}`)
  return response.headers.get('set-cookie')!.split(';')[0]!
}

/** A client that runs actions as the first administrator. */
export async function signedIn(hub: HubChild): Promise<Invoke> {
  const headers = { cookie: await sessionOf(hub), origin: hub.url }
  return createClient({ baseUrl: hub.url, headers })
}

/** The deployment token that the first start created. */
export function firstToken({ dataDir }: Pick<HubChild, 'dataDir'>): string {
  return JSON.parse(readFileSync(join(dataDir, 'initial-admin.json'), 'utf8')).deploymentToken
}

/**
 * Folder of the embedded database that belongs to a data folder. If the hub stored the database outside of the data folder, the
 * file `postgres/elsewhere` in the data folder has the path.
 */
export async function databaseHome(dataDir: string): Promise<string> {
  const home = join(dataDir, 'postgres')
  const elsewhere = await readFile(join(home, 'elsewhere'), 'utf8').catch(() => undefined)
  return join(elsewhere?.trim() ?? home, '18')
}

/** Connects to the embedded database of a hub as its PostgreSQL superuser. The connection is closed on disposal. */
export async function databaseOf(dataDir: string): Promise<pg.Client & AsyncDisposable> {
  const { admin } = JSON.parse(await readFile(join(dataDir, 'database.json'), 'utf8')) as { admin: string }
  const host = await readFile(join(await databaseHome(dataDir), 'socket'), 'utf8')
  const client = new pg.Client({ host, user: 'postgres', password: admin, database: 'muster' })
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** Runs a statement in the embedded database of a hub, bypassing the hub. */
export async function changeDatabase(
  { dataDir }: Pick<HubChild, 'dataDir'>,
  statement: string,
): Promise<void> {
  await using database = await databaseOf(dataDir)
  await database.query(statement)
}

type ProcessInfo = { pid: number; parent: number; state: string; command: string }

function processes(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return [{ pid: Number(name), parent: Number(parent), state: state!, command }]
      } catch {
        return []
      }
    })
}

/** Process ids of all descendants of a process. */
export function descendantsOf(pid: number): number[] {
  const all = processes()
  const found: number[] = []
  for (let generation = [pid]; generation.length > 0; ) {
    generation = all.filter(({ parent }) => generation.includes(parent)).map(child => child.pid)
    found.push(...generation)
  }
  return found
}

/** Process ids of a hub's database server (`server`), and of the shells that stop the server when the hub dies (`shells`). */
export async function databaseProcesses(dataDir: string): Promise<{ server: number[]; shells: number[] }> {
  const data = join(await databaseHome(dataDir), 'data')
  const found = processes().filter(({ state, command }) => state !== 'Z' && command.includes(`-D ${data} `))
  const isShell = ({ command }: ProcessInfo): boolean => command.startsWith('/bin/sh')
  const servers = found.filter(one => !isShell(one))
  // A newly forked child has the server's command line until it sets its own process title.
  const isForked = ({ parent }: ProcessInfo): boolean => servers.some(({ pid }) => pid === parent)
  return {
    server: servers.filter(one => !isForked(one)).map(({ pid }) => pid),
    shells: found.filter(isShell).map(({ pid }) => pid),
  }
}

/** Memory of processes in bytes, as the sum of their proportional set sizes, so that shared pages count once. */
export function proportionalBytes(pids: number[]): number {
  return pids.reduce((sum, pid) => {
    const pss = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
    return sum + Number(pss?.[1] ?? 0) * 1024
  }, 0)
}

/** The user id that a process runs under. */
export function accountOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Sends a signal to a process, if it still runs. */
export function signalNow(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

const START_TIMEOUT_MS = 60_000

export type BenchHub = AsyncDisposable & {
  url: string
  token: string
  /** Process id of the hub; its database's processes descend from it. */
  pid: number
  /** The first administrator's. */
  signIn: { email: string; password: string }
  /** The hub's own database, as its superuser. */
  database: { host: string; user: string; password: string; database: string }
  /** Runs SQL on the hub's own database. */
  query(text: string): Promise<Record<string, unknown>[]>
}

/** Starts the hub with its embedded database in a folder that is deleted afterwards. */
export async function startBenchHub(): Promise<BenchHub> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'))
  // The database's account must be able to enter.
  await chmod(dataDir, 0o755)
  const port = await freePort()
  const hub = spawn(process.execPath, [join(import.meta.dirname, '../apps/hub/src/main.ts')], {
    env: { ...process.env, MUSTER_DATA_DIR: dataDir, MUSTER_PORT: String(port), MUSTER_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // However this process ends, the hub must not outlive it.
  process.once('exit', () => hub.kill('SIGKILL'))
  const token = await printedToken(hub)
  const { admin } = JSON.parse(await readFile(join(dataDir, 'database.json'), 'utf8')) as { admin: string }
  const [major] = await readdir(join(dataDir, 'postgres'))
  const host = await readFile(join(dataDir, 'postgres', major!, 'socket'), 'utf8')
  const database = { host, user: 'postgres', password: admin, database: 'muster' }
  const signIn = JSON.parse(await readFile(join(dataDir, 'initial-admin.json'), 'utf8')) as BenchHub['signIn']
  return {
    signIn,
    database,
    url: `http://127.0.0.1:${port}`,
    token,
    pid: hub.pid!,
    async query(text) {
      const client = new pg.Client(database)
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    },
    async [Symbol.asyncDispose]() {
      const ended = once(hub, 'exit')
      hub.kill('SIGTERM')
      await ended
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Proportional memory of a process and everything below it, in KiB. */
export function memoryKiB(pid: number): { hub: number; all: number } {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // The process ended meanwhile.
    }
  }
  let all = 0
  for (const candidate of parents.keys()) if (descendsFrom(candidate, pid, parents)) all += pssKiB(candidate)
  return { hub: pssKiB(pid), all }
}

function descendsFrom(pid: number, ancestor: number, parents: Map<number, number>): boolean {
  for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === ancestor) return true
  return false
}

function pssKiB(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function printedToken(hub: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let output = ''
    const timer = setTimeout(() => failed(new Error(`the hub did not start: ${output}`)), START_TIMEOUT_MS)
    hub.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const token = /deployment_\w{66}/.exec(output)?.[0]
      if (!token || !output.includes('Stop with')) return
      clearTimeout(timer)
      done(token)
    })
    hub.once('exit', code => failed(new Error(`the hub ended with ${code}: ${output}`)))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

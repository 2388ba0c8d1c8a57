import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@muster/testkit/until'

const root = join(import.meta.dirname, '..')

export type HubProcess = AsyncDisposable & {
  url: string
  email: string
  password: string
  dataDir: string
  output: () => string
}
export type AgentProcess = AsyncDisposable & { output: () => string }

/** The hub as users run it: its own process with the embedded database, in a data folder of its own. */
export async function startHub(env: Record<string, string> = {}): Promise<HubProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-e2e-'))
  // The database's account must be able to enter.
  await chmod(dataDir, 0o755)
  const port = await freePort()
  const { child, output } = run('apps/hub/src/main.ts', [], {
    MUSTER_DATA_DIR: dataDir,
    MUSTER_PORT: String(port),
    ...env,
  })
  await until(
    `the hub is ready\n${output()}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`the hub ended with ${child.exitCode}: ${output()}`)
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
      return response?.ok
    },
    60_000,
  )
  const { email, password } = JSON.parse(await readFile(join(dataDir, 'initial-admin.json'), 'utf8')) as {
    email: string
    password: string
  }
  return {
    url: `http://localhost:${port}`,
    email,
    password,
    dataDir,
    output,
    async [Symbol.asyncDispose]() {
      await stop(child)
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The agent as users run it. */
export function startAgent(options: string[]): AgentProcess {
  const { child, output } = run('apps/agent/src/main.ts', options)
  return { output, [Symbol.asyncDispose]: () => stop(child) }
}

/** A one-shot command of the agent; resolves to what it printed. */
export async function agentCommand(options: string[]): Promise<string> {
  const { child, output } = run('apps/agent/src/main.ts', options)
  if (child.exitCode === null) await once(child, 'exit')
  if (child.exitCode !== 0) throw new Error(`the agent ended with ${child.exitCode}: ${output()}`)
  return output()
}

function run(
  entry: string,
  options: string[],
  env: Record<string, string> = {},
): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, [join(root, entry), ...options], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { child, output: () => Buffer.concat(chunks).toString() }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await ended
  clearTimeout(timer)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

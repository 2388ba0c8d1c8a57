import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { PROGRAMS } from './programs.ts'
import { until } from './until.ts'

/** Debian's NATS server on loopback. */
export type NatsServer = AsyncDisposable & {
  port: number
  /** Sends a signal to the process, such as SIGSTOP and SIGCONT. */
  signal(name: NodeJS.Signals): void
  /** Ends the process without notice, so that all connections break. */
  stop(): Promise<void>
  /** Starts a new process on the same port, after the end of the old one. */
  restart(): Promise<void>
}

/**
 * Starts the server on a free port. `configuration` is appended to its configuration file. `host` is its address, and `inside` has the words
 * before its command if it runs in another network namespace.
 */
export async function natsServer(
  configuration = '',
  { host = '127.0.0.1', inside = [] }: { host?: string; inside?: readonly string[] } = {},
): Promise<NatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-nats-'))
  const port = await freePort()
  const file = join(folder, 'nats.conf')
  await writeFile(file, `listen: "${host}:${port}"\n${configuration}`)
  const start = async (): Promise<ChildProcess> => {
    const [program, ...words] = [...inside, PROGRAMS['nats-server'].path, '-c', file]
    const started = spawn(program!, words, { stdio: ['ignore', 'ignore', 'pipe'] })
    let output = ''
    started.stderr.on('data', chunk => (output += chunk))
    await until('nats-server is ready', () => {
      if (started.exitCode !== null) throw new Error(`nats-server ended: ${output}`)
      return output.includes('Server is ready')
    })
    return started
  }
  let child = await start()
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    port,
    signal: name => void child.kill(name),
    stop,
    async restart() {
      await stop()
      child = await start()
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../../apps/cli/muster.js')

export type Ran = { code: number | null; out: string; err: string }

/**
 * The command-line client `muster`. Each command runs in a separate process. `folder` is the working folder and the home of all
 * these processes. It is removed on disposal.
 */
export type Muster = AsyncDisposable & {
  folder: string
  /** Runs a command until it exits. `input` is its standard input. */
  run(argv: string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ran>
  /** Runs a command with `--json`, which must succeed, and parses its output. */
  json<T>(...argv: string[]): Promise<T>
  /** Starts a command that keeps running. */
  start(argv: string[]): { child: ChildProcess; out: () => string; err: () => string; ended: Promise<Ran> }
}

/** Prepares the command-line client. The environment of its processes consists of `HOME` and the given variables. */
export async function muster(environment: Record<string, string> = {}): Promise<Muster> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'))
  const start = (argv: string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [MAIN, ...argv], {
      cwd: folder,
      env: { HOME: folder, ...environment, ...env },
      stdio: 'pipe',
    })
    const out = textOf(child.stdout)
    const err = textOf(child.stderr)
    const ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      out: out(),
      err: err(),
    }))
    return { child, out, err, ended }
  }
  const run: Muster['run'] = ([...argv], { input = '', env } = {}) => {
    const { child, ended } = start(argv, env)
    // A process that exits without reading its standard input causes an `EPIPE` error here. Without a listener, Node would
    // throw this error.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    return ended
  }
  return {
    folder,
    run,
    start: argv => start(argv),
    async json(...argv) {
      const { code, out, err } = await run([...argv, '--json'])
      if (code !== 0) throw new Error(`muster ${argv.join(' ')} exited with ${code}: ${err}`)
      return JSON.parse(out)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

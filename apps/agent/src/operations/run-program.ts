import { type ChildProcess, spawn } from 'node:child_process'
import { memberText } from '@muster/actions/exact-json'
import { codeOf } from '../describe-error.ts'

/** Largest line that a program writes, in bytes. Longer lines are ignored. */
const MAX_LINE_BYTES = 1024 * 1024
/** End of the log of a program that is kept for the reason of a failure, in characters. */
const TAIL_LENGTH = 2048
/** Time between SIGTERM and SIGKILL, in milliseconds. */
const KILL_AFTER_MS = 5_000
/** Time for which output is read after the program has ended, in milliseconds: a process that it left may hold the pipe open. */
const DRAIN_MS = 1_000

export type ProgramOptions = {
  /** Program and its arguments. */
  handler: readonly string[]
  /** Text for its standard input, which then ends. */
  input: string
  timeoutSecs: number
  /** Ends the program. */
  signal: AbortSignal
  /** Called with the JSON text of `data` in each line `{"type": …, "data": …}` of its standard output. Other lines are ignored. */
  onMessage: (type: string, data: string) => void
}

/** How a program ended. `Stopped` means that it was ended by the signal. */
export type ProgramEnd = { kind: 'Succeeded' | 'Stopped' } | { kind: 'Failed'; error: string }

/** Runs a program in a process group of its own. Resolves when it has ended, or could not be started. */
export async function runProgram(options: ProgramOptions): Promise<ProgramEnd> {
  const { handler, input, timeoutSecs, signal, onMessage } = options
  const [program = '', ...args] = handler
  if (signal.aborted) return { kind: 'Stopped' }
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let tail = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-TAIL_LENGTH)
  })
  readLines(child, line => {
    const message = messageIn(line)
    if (message) onMessage(message.type, message.data)
  })
  // A program that does not read its input closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(input)

  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>()
  child.once('error', error => resolve(`${program} could not be started (${codeOf(error) ?? error.message})`))
  child.once('exit', (code, killedBy) =>
    resolve(code === 0 ? undefined : killedBy ? `ended by ${killedBy}` : `ended with status ${code}`),
  )
  const closed = new Promise(done => child.once('close', done))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    end(child)
  }, timeoutSecs * 1000)
  const stop = (): void => end(child)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const problem = await ended
    if (child.pid !== undefined) {
      const drained = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, DRAIN_MS)
      await closed
      clearTimeout(drained)
    }
    if (isLate) return { kind: 'Failed', error: `not done within ${timeoutSecs} s${logOf(tail)}` }
    if (signal.aborted) return { kind: 'Stopped' }
    return problem === undefined ? { kind: 'Succeeded' } : { kind: 'Failed', error: problem + logOf(tail) }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Ends the process group of a program: first by SIGTERM, then by SIGKILL. */
function end(child: ChildProcess): void {
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // The group has ended.
    }
  }
  kill('SIGTERM')
  const timer = setTimeout(() => kill('SIGKILL'), KILL_AFTER_MS)
  child.once('exit', () => clearTimeout(timer))
}

function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  let rest = ''
  let isTooLong = false
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (!isTooLong && line.length <= MAX_LINE_BYTES) onLine(line)
      isTooLong = false
    }
    if (rest.length > MAX_LINE_BYTES) {
      rest = ''
      isTooLong = true
    }
  })
  child.stdout!.on('end', () => {
    if (rest !== '' && !isTooLong) onLine(rest)
  })
}

function messageIn(line: string): { type: string; data: string } | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const { type } = JSON.parse(line) as { type?: unknown }
    const data = memberText(line, 'data')
    return typeof type === 'string' && data !== undefined ? { type, data } : undefined
  } catch {
    return undefined
  }
}

function logOf(tail: string): string {
  const text = tail.trim()
  return text === '' ? '' : `: ${text}`
}

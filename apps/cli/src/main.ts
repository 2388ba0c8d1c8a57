import { writeFileSync } from 'node:fs'
import { runCli } from './cli.ts'

// biome-ignore lint/style/noProcessEnv: the only place where the CLI reads the environment
const environment = process.env
// `npm run cli` starts in the checkout, but relative paths in arguments refer to the caller's folder.
if (environment.npm_lifecycle_event === 'cli' && environment.INIT_CWD) process.chdir(environment.INIT_CWD)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Only the first signal is handled, so that a second signal kills the process.
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early, as in `muster … | head`, is no failure.
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(
    `muster: Found ${error.code} writing the result, expected a writable standard output.\n`,
  )
  process.exit(1)
})
// If standard error is closed, its lines are lost, but the command continues and its exit code stays correct.
process.stderr.on('error', () => {})

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  ask,
  input: () => process.stdin,
  isTerminal: process.stderr.isTTY === true && environment.TERM !== 'dumb',
  environment,
  signal: stopping.signal,
})

/** Writes to the terminal even when standard error goes to a file. */
function ask(text: string): void {
  if (process.stderr.isTTY !== true) {
    try {
      writeFileSync('/dev/tty', text)
      return
    } catch {
      // The process has no terminal, so the text goes to standard error.
    }
  }
  process.stderr.write(text)
}

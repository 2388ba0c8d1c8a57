import { writeFileSync } from 'node:fs'
import { runCli } from './cli.ts'

// biome-ignore lint/style/noProcessEnv: the one place where the command line reads it
const environment = process.env
// `npm run cli` starts in the folder of the checkout; files are named from where the person is.
if (environment.npm_lifecycle_event === 'cli' && environment.INIT_CWD) process.chdir(environment.INIT_CWD)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A second signal ends the process the hard way.
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`muster … | head`) is no failure.
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(
    `muster: Found ${error.code} writing the result, expected a writable standard output.\n`,
  )
  process.exit(1)
})
// What is told on the way is lost then; the command goes on, and its exit code says how it ended.
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

/** Where standard error goes to a file, the terminal itself still reaches the person. */
function ask(text: string): void {
  if (process.stderr.isTTY !== true) {
    try {
      writeFileSync('/dev/tty', text)
      return
    } catch {
      // There is none.
    }
  }
  process.stderr.write(text)
}

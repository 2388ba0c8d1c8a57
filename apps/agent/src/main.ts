import './small-process.ts'
import './young-heap.ts'
import { askSecret } from './ask-secret.ts'
import { runCli } from './cli.ts'
import { createLog } from './log.ts'

// biome-ignore lint/style/noProcessEnv: the only place where the agent reads the environment
const environment = process.env
// `npm run agent` starts in the checkout, but relative paths in arguments refer to the caller's folder.
if (environment.npm_lifecycle_event === 'agent' && environment.INIT_CWD) process.chdir(environment.INIT_CWD)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Only the first signal is handled, so that a second signal kills the process.
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early, as in `muster-agent … | head`, is no failure.
  if (error.code === 'EPIPE') process.exit(0)
  createLog({ level: 'error' }).error(
    `found ${error.code} writing the result, expected a writable standard output`,
  )
  process.exit(1)
})
// Ignores write errors of standard error, because a full disk or a closed pipe must not end a device's connection.
process.stderr.on('error', () => {})

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  input: () => process.stdin,
  ...(process.stdin.isTTY && {
    ask: (question: string) =>
      askSecret(question, {
        input: process.stdin,
        write: text => process.stderr.write(text),
        signal: stopping.signal,
      }),
  }),
  signal: stopping.signal,
  environment,
})

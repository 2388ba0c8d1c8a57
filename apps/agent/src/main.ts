import './young-heap.ts'
import { runCli } from './cli.ts'
import { createLog } from './log.ts'

// biome-ignore lint/style/noProcessEnv: the only place where the agent reads it
const environment = process.env
// `npm run agent` starts in the checkout, but relative paths are meant from the caller's folder.
if (environment.npm_lifecycle_event === 'agent' && environment.INIT_CWD) process.chdir(environment.INIT_CWD)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Handles the first signal only, so that a second one kills the process.
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A closed reader (`muster-agent … | head`) is no failure.
  if (error.code === 'EPIPE') process.exit(0)
  createLog({ level: 'error' }).error(
    `found ${error.code} writing the result, expected a writable standard output`,
  )
  process.exit(1)
})
// A full or closed log must not end the connection of a device.
process.stderr.on('error', () => {})

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  input: () => process.stdin,
  signal: stopping.signal,
})

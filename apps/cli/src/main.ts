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
for (const stream of [process.stdout, process.stderr]) {
  // A reader that has seen enough (`muster … | head`) is no failure.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  input: () => process.stdin,
  isTerminal: process.stderr.isTTY === true && environment.TERM !== 'dumb',
  environment,
  signal: stopping.signal,
})

import './young-heap.ts'
import { runCli } from './cli.ts'

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A second signal ends the process the hard way.
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
}

process.exitCode = await runCli(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  input: () => process.stdin,
  signal: stopping.signal,
})

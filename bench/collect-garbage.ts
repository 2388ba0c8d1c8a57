// Preloaded into a measured process that runs with `--expose-gc`. On SIGUSR2 it collects garbage and returns free memory
// to the system, so that memory figures show live data only.
type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

process.on('SIGUSR2', () => {
  ;(globalThis as { gc?: Collect }).gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
})

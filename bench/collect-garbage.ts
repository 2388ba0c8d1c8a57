// Loaded before a measured process with `--expose-gc`: SIGUSR2 collects its garbage and gives back what can be, so that memory
// figures tell what is held.
type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

process.on('SIGUSR2', () => {
  ;(globalThis as { gc?: Collect }).gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
})

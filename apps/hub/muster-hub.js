#!/usr/bin/env node
import '../../tools/require-node.js'

// V8 reads its heap options only at the start of the process. A full garbage collection pauses the event loop for 0.1 s per 1,000
// devices, so the options make full collections rare. docs/internals.md has the measurements.
const HEAP = [
  // Fixed semi-space size in MB. By default V8 shrinks the young generation in quiet periods, and short-lived objects then reach
  // the old generation.
  '--min-semi-space-size=8',
  '--max-semi-space-size=8',
  // Streamed bytes lie in buffers outside of the heap, and V8 starts a full collection after a few MB of them. With this option a
  // collection of the young generation, which frees such buffers too, starts at 8 MB of them instead of 32 MB. This halves the CPU
  // time of a stream (`npm run bench -- tunnel`).
  '--scavenger-max-new-space-capacity-mb=8',
  // A full collection starts when the heap and its external memory have doubled, and not because the process is idle. By
  // default V8 starts a full collection for every further 50 MB of external memory. 500 devices with TLS use 50 MB.
  '--heap-growing-percent=100',
  '--external-memory-accounted-in-global-limit',
  '--no-memory-reducer',
  // An idle hub collects garbage itself (src/platform/runtime/idle-memory.ts).
  '--expose-gc',
]

// Number of arenas of glibc's malloc. By default each thread of Node gets one, which keep 20 to 30 MiB that nothing uses.
const MALLOC_ARENA_MAX = '2'

// Replaces this process by one that has these V8 options and the arenas. The process id stays the same.
if (!HEAP.every(option => process.execArgv.includes(option)))
  process.execve(
    process.execPath,
    [process.execPath, ...HEAP, ...process.execArgv, ...process.argv.slice(1)],
    // Node 24.0.0 does not pass the environment on by default.
    // biome-ignore lint/style/noProcessEnv: passed on, not read
    { MALLOC_ARENA_MAX, ...process.env },
  )

await import('../../tools/compile-cache.js')
await import('./src/main.ts')

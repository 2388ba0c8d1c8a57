#!/usr/bin/env node
import '../../tools/require-node.js'

// How V8 keeps its heap can only be said before it starts. What a collection of the whole heap costs, a tenth of a second for a
// thousand devices, everybody waits for, so there should be few.
const HEAP = [
  // A fixed size of its young part. By itself V8 makes it small in a quiet minute, and then too little dies young.
  '--min-semi-space-size=8',
  '--max-semi-space-size=8',
  // Bytes on their way through the hub come in buffers outside of the heap, and what V8 lets gather there before it goes through the
  // whole heap is little beside a stream. So it collects what is young, which frees them too, already for so many megabytes of them
  // (not for four times as many): a stream costs half of the processor time then.
  '--scavenger-max-new-space-capacity-mb=8',
  // The whole heap has its turn when it has doubled, with what lies outside of it, and not because there is little to do. By itself
  // V8 goes through it for every 50 MB more outside, which are 500 devices with TLS.
  '--heap-growing-percent=100',
  '--external-memory-accounted-in-global-limit',
  '--no-memory-reducer',
]

// The same process starts once more.
if (!HEAP.every(option => process.execArgv.includes(option)))
  process.execve(
    process.execPath,
    [process.execPath, ...HEAP, ...process.execArgv, ...process.argv.slice(1)],
    // Node 24.0.0 passes no environment on by itself.
    // biome-ignore lint/style/noProcessEnv: it is not read here
    process.env,
  )

await import('../../tools/compile-cache.js')
await import('./src/main.ts')

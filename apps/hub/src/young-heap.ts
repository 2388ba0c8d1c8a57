import { setFlagsFromString } from 'node:v8'

// Bytes on their way through the hub come in buffers outside of V8's heap, which a collection of what is young frees for little.
// Where the young part of the heap may grow (to 16 MiB), those buffers reach their limit (32 MiB) before it is full, and each time
// V8 goes through the whole heap: a stream then costs three times the processor time. What it grew to while modules were loaded, it
// loses at the first such collection, and does not grow again.
setFlagsFromString('--semi-space-growth-factor=1')

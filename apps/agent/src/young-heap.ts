import { setFlagsFromString } from 'node:v8'

// Forwarded bytes arrive in buffers outside V8's heap. With a heap as small as an agent's, V8 would run a full
// collection fifteen times a second during a stream. A small young generation is collected after about 4 MB of such
// buffers instead, which is cheap.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=1')

import { setFlagsFromString } from 'node:v8'

// Forwarded bytes arrive in buffers outside V8's heap. With a heap as small as an agent's, V8 would run a full garbage collection
// fifteen times a second during a stream. With a small young generation, V8 instead runs a cheap minor collection after about 4
// MB of such buffers.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=1')

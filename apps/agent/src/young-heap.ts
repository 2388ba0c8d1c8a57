import { setFlagsFromString } from 'node:v8'

// Bytes that are forwarded come in buffers outside of V8's heap. In a heap as small as an agent's, few of them let V8 go through
// all of it, fifteen times a second beside a stream; collecting what is young already for some 4 MB of them frees them for little.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=1')

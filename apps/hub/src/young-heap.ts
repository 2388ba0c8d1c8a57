import { setFlagsFromString } from 'node:v8'

// Bytes on their way through the hub come in buffers outside of V8's heap, and what V8 lets gather there before it goes through its
// whole heap is little beside a stream. So it collects what is young, which frees them too, already for so many of them (not for
// four times as many): a stream costs half of the processor time then. At 8 whole collections were rarest with one stream and four.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=8')
// What the young part of the heap grew to while modules were loaded does for events too, and it need not grow again: with a thousand
// devices that publish the hub then takes twice the memory and saves no time.
setFlagsFromString('--semi-space-growth-factor=1')

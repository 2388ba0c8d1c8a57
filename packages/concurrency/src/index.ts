export { Batcher, type BatcherOptions, type Settled } from './batcher.ts'
export { every } from './every.ts'
export { FairLimiter, LimiterRejection, type Permit } from './fair-limiter.ts'
export { InFlight, waitUpTo } from './in-flight.ts'

export { ConnectProxy } from './connect-proxy.ts'
export { fuzzLinks, liveBytes, mutatedFrame, type Random, seededRandom } from './fuzz.ts'
export { type FirstPing, type LegacyChannel, LegacyPeer } from './legacy-peer.ts'
export { ManualClock } from './manual-clock.ts'
export {
  connectedLinks,
  inMemoryTransportPair,
  type LinkPair,
  MemoryTransport,
  type MemoryTransportPair,
  withoutMark,
} from './memory-transport.ts'
export { HELLO, RawPeer } from './raw-peer.ts'

/**
 * Generation of a peer's multiplexer: `Legacy` is older than 2026-07-27, `Current` is not. `Unknown` until the peer's first
 * Ping, at most for 5 s after its Hello (docs/protocol.md 1.7).
 */
export type PeerAge = 'Unknown' | 'Legacy' | 'Current'

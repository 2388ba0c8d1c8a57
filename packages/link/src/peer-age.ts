/**
 * Generation of a peer's multiplexer: `Legacy` is older than 2026-07-27, `Current` is not. A peer with our mark in its Hello is `Current`.
 * Any other peer is `Unknown` until its first Ping, at most for 5 s after its Hello (docs/protocol.md 1.7).
 */
export type PeerAge = 'Unknown' | 'Legacy' | 'Current'

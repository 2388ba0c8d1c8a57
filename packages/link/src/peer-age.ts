import { decodeLossyText, encodeText } from './bytes.ts'

/**
 * Generation of a peer's multiplexer: `Legacy` is older than 2026-07-27, `Current` is not. A peer with `OWN_MARK` in its Hello is `Current`.
 * Any other peer is `Unknown` until its first Ping, at most for 5 s after its Hello (docs/protocol.md 1.7).
 */
export type PeerAge = 'Unknown' | 'Legacy' | 'Current'

/** Start of the mark in the info of a Hello (docs/protocol.md R-25). Later versions of the mark may add to it. */
const MARK_START = 'muster/'

/** Info of our own Hello. Public peers ignore it, and current ones accept up to 4 KiB of it. */
export const OWN_MARK = encodeText(`${MARK_START}1`)

/** True if the info of a peer's Hello says that the peer runs this package. */
export function hasOwnMark(info: Uint8Array): boolean {
  return decodeLossyText(info.subarray(0, MARK_START.length)) === MARK_START
}

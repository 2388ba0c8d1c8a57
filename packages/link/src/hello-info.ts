import { decodeLossyText, encodeText } from './bytes.ts'

/** Start of the mark in the info of a Hello (docs/protocol.md R-25). */
const MARK_START = 'muster/'
/** Our mark, and behind it the bound for the return of the peer, if there is one (docs/protocol.md R-26). */
const RETURN_WITHIN = /^muster\/\d+;return=(\d{1,6})(?:;|$)/
/** Bounds of a bound that is believed, in milliseconds. */
const LEAST_RETURN_MS = 1000
const MOST_RETURN_MS = 60_000

/**
 * Info of our Hello: our mark and the time within which the peer shall return after a crash, in milliseconds. Public peers ignore the info,
 * and current ones accept up to 4 KiB of it.
 */
export function helloInfo(returnWithinMs?: number): Uint8Array {
  return encodeText(`${MARK_START}1${returnWithinMs === undefined ? '' : `;return=${returnWithinMs}`}`)
}

/** True if the info of a peer's Hello says that the peer runs this package. */
export function hasOwnMark(info: Uint8Array): boolean {
  return decodeLossyText(info.subarray(0, MARK_START.length)) === MARK_START
}

/** Time in milliseconds that the info of a hub's Hello names for the return of its device; undefined without a plausible one. */
export function returnWithinMsOf(info: Uint8Array): number | undefined {
  const returnMs = Number(RETURN_WITHIN.exec(decodeLossyText(info))?.[1])
  return returnMs >= LEAST_RETURN_MS && returnMs <= MOST_RETURN_MS ? returnMs : undefined
}

import { useLostHub } from '../../api/lost-hub.ts'

/** A clock of the page that stops while the hub is lost, for durations that only the hub knows to go on. */
export function useKnownNow(nowMs: number): number {
  return Math.min(nowMs, useLostHub()?.lostAtMs ?? nowMs)
}

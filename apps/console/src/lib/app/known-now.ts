import { useLostHub } from '../../api/lost-hub.ts'

/**
 * The current time, which stands still while the hub is lost. Durations that only the hub knows, such as that of a connection, must not
 * advance then.
 */
export function useKnownNow(nowMs: number): number {
  return Math.min(nowMs, useLostHub()?.lostAtMs ?? nowMs)
}

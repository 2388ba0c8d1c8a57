import { useLostHub } from '../../api/lost-hub.ts'

/**
 * The current time, or the time of the last message while the hub cannot be reached. Durations that only the hub knows, such as the
 * duration of a connection, must not advance then.
 */
export function useKnownNow(nowMs: number): number {
  return Math.min(nowMs, useLostHub()?.lostAtMs ?? nowMs)
}

import { useLostHub } from '../../api/lost-hub.ts'

/**
 * The current time, or the time of the hub's last message while the hub cannot be reached. Durations that only the hub knows, such as the
 * duration of a device's connection, must not advance while the hub is unreachable.
 */
export function useKnownNow(nowMs: number): number {
  return Math.min(nowMs, useLostHub()?.lostAtMs ?? nowMs)
}

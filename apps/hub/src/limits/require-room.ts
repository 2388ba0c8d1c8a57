import { LimitReached } from './limit-reached.ts'
import type { LimitName, LimitSubject, LimitValues } from './limits.ts'

/**
 * Throws `LimitReached` when `count` things of a limited total are there already and one more would exceed it. The caller holds a lock
 * on what owns the things, so that creations at the same moment count each other.
 */
export function requireRoom(
  { limits }: { limits: LimitValues },
  limit: LimitName,
  subject: LimitSubject,
  count: number,
  remedy: string,
): void {
  const max = limits[limit]
  if (count >= max) throw new LimitReached({ limit, subject, max, found: count + 1, remedy })
}

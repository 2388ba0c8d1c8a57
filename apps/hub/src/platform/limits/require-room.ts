import type { LimitSubject } from '@muster/actions'
import { LimitReached } from './limit-reached.ts'
import type { LimitName, LimitValues } from './limits.ts'

/**
 * Throws `LimitReached` when `count` existing rows leave no room for another row under a limit. The caller holds a lock on the
 * owner of the rows, so that concurrent creations count each other.
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

/** PostgreSQL version of the embedded server's npm packages, and the day of its release. Changes with the packages. */
export const EMBEDDED_RELEASE = { version: '18.4', releasedAt: '2026-05-14' }

/**
 * Number of planned minor releases of PostgreSQL after a day: the second Thursdays of February, May, August and November
 * (https://www.postgresql.org/developer/roadmap/). Any of them may close security holes.
 */
export function releasesSince(day: string, now: Date): number {
  const since = new Date(day)
  let count = 0
  for (let year = since.getUTCFullYear(); year <= now.getUTCFullYear(); year++)
    for (const month of [1, 4, 7, 10]) {
      const firstWeekday = new Date(Date.UTC(year, month, 1)).getUTCDay()
      const release = new Date(Date.UTC(year, month, 1 + ((4 - firstWeekday + 7) % 7) + 7))
      if (release > since && release <= now) count++
    }
  return count
}

/** Rows of a log that are asked for at once. */
export const LOG_PAGE_SIZE = 100

/** What stands in the address of a log: who, what, and from which day to which, both included and in the reader's zone. */
export type AuditSearch = { actor?: string; type?: string; from?: string; to?: string }

/** The filter that an address asks for; days that are none, or whose year is still being typed, ask for nothing. */
export function auditFilter({ actor, type, from, to }: AuditSearch) {
  const since = from && startOfDay(from)
  const until = to && startOfDay(to, 1)
  return {
    ...(actor?.trim() && { actor: actor.trim() }),
    ...(type && { types: [type] }),
    ...(since && { since }),
    ...(until && { until }),
  }
}

/** The moment a day begins here, or that many days later, as a timestamp. */
function startOfDay(day: string, daysLater = 0): string | undefined {
  const [, year, month, date] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(day) ?? []
  if (!date) return undefined
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).toISOString()
}

/** Rows per request of a log. */
export const LOG_PAGE_SIZE = 100

/** Search parameters of a log: actor, type, first and last day. Both days are included, in the local time zone. */
export type AuditSearch = { actor?: string; type?: string; from?: string; to?: string }

/** The filter for these search parameters. Ignores invalid days and years that are still being typed. */
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

/** Local midnight of a day, plus `daysLater` days, as a timestamp. */
function startOfDay(day: string, daysLater = 0): string | undefined {
  const [, year, month, date] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(day) ?? []
  if (!date) return undefined
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).toISOString()
}

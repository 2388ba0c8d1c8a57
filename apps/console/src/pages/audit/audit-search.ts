/** Number of rows per request of a log. */
export const LOG_PAGE_SIZE = 100

/** Search parameters of a log: actor, type, first and last day. Both days are included, in the local time zone. */
export type AuditSearch = { actor?: string; type?: string; from?: string; to?: string }

/**
 * Filter of the query for these search parameters. Ignores texts other than `YYYY-MM-DD`, and dates whose year is still
 * being typed, such as `0002-11-24`.
 */
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

/** Local midnight of a day `YYYY-MM-DD`, plus `daysLater` days, as an ISO 8601 timestamp; `undefined` for other texts. */
function startOfDay(day: string, daysLater = 0): string | undefined {
  const [, year, month, date] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(day) ?? []
  if (!date) return undefined
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).toISOString()
}

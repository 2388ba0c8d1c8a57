import type { ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { tryBrief } from '../../platform/database/client/brief.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { matchesEntry, type ResolvedFilter, resolveFilter } from './entry-filter.ts'
import type { LogOf } from './log-scope.ts'

type ActivityInput = ParsedInput<'audit_QueryAuditLogActivity'>
type ActivityOutput = {
  activity?: {
    from: string
    until: string
    entryCount: number
    failureCount: number
    bins: { entryCount: number; failureCount: number }[]
  }
}

/** Number of bins into which the counted time range is divided. In a range of one day, each bin is 15 min long. */
const BINS = 96
const DAY_SECS = 24 * 60 * 60

/**
 * Counts events and failed actions in the time range of a filter, or in the last 24 h. The result has no counts if counting takes more
 * than 2 s.
 */
export async function queryActivity(
  db: Db,
  signal: AbortSignal,
  { filter }: ActivityInput,
  of?: LogOf,
): Promise<ActivityOutput> {
  const resolved = await resolveFilter(db, filter ?? {}, of)
  const hasBeginning = resolved.since !== undefined || resolved.withinSecs !== undefined
  const bounded = hasBeginning ? resolved : { ...resolved, withinSecs: DAY_SECS }
  const activity = await tryBrief(db, signal, tx => count(tx, bounded, of))
  return activity ? { activity } : {}
}

async function count(
  tx: Tx,
  filter: ResolvedFilter,
  of: LogOf | undefined,
): Promise<NonNullable<ActivityOutput['activity']>> {
  const { since, until, withinSecs } = filter
  // Avoids sequential scans. For a long range, PostgreSQL would otherwise scan the whole table, which evicts other data from its caches.
  await sql`select set_config('enable_seqscan', 'off', true)`.execute(tx)
  const { rows: ends } = await sql<{ from: Date; until: Date }>`
    select greatest(${since ?? null}::timestamptz, now() - make_interval(secs => ${withinSecs ?? null}::integer)) as "from",
           least(${until ?? null}::timestamptz, now()) as until`.execute(tx)
  const { from, until: end } = ends[0]!
  const own = of ? sql`and ${sql.ref(`a.${of.column}`)} = ${of.id}` : sql``
  // `width_bucket` rejects equal bounds, so the range has at least 1 s. Times outside of the range are counted in the first or last bin.
  const seconds = Math.max(1, (end.getTime() - from.getTime()) / 1000)
  const { rows } = await sql<{ bin: number; isFailed: boolean; count: number }>`
    select least(greatest(width_bucket(extract(epoch from created_at - ${from}::timestamptz)::float8, 0, ${seconds}::float8, ${BINS}::integer), 1),
                 ${BINS}) as bin, is_failed as "isFailed", count(*) as count
      from (select a.created_at, false as is_failed from audit_event a where ${matchesEntry('event', filter)} ${own}
            union all
            select a.created_at, true from audit_action a
             where a.status in ('Failed', 'Rejected', 'Panicked') and ${matchesEntry('action', filter)} ${own}) entries
     group by 1, 2`.execute(tx)
  const bins = Array.from({ length: BINS }, () => ({ entryCount: 0, failureCount: 0 }))
  for (const { bin, isFailed, count } of rows) {
    const found = bins[bin - 1]!
    found.entryCount += count
    if (isFailed) found.failureCount += count
  }
  const sum = (field: 'entryCount' | 'failureCount'): number =>
    bins.reduce((total, bin) => total + bin[field], 0)
  return {
    from: wireTime(from),
    until: wireTime(end),
    entryCount: sum('entryCount'),
    failureCount: sum('failureCount'),
    bins,
  }
}

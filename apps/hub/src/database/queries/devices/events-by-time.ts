import { type RawBuilder, sql } from 'kysely'
import { CLAIMED_AT, NO_DAY } from './device-events.ts'
import { earliestPlausible, latestPlausible, WRONG_CLOCK_DAY } from './event-times.ts'

type Options = {
  deviceId: RawBuilder<unknown>
  /** Maximum number of rows of each part of the result. */
  limit: RawBuilder<unknown>
  /** Condition that an event with this time comes after the last one that was read. */
  comesAfter: (time: RawBuilder<unknown>) => RawBuilder<boolean>
  /** First day whose partition is read. The default partition is read as well. If absent, all partitions are read. */
  fromDay?: RawBuilder<unknown> | undefined
  /** Columns that are read besides the time, of the table `e`. */
  columns: RawBuilder<unknown>
}

/**
 * Subquery for the latest events of a device by the time at which lists show them, `listed_at`. For an event with a plausible time
 * (`isPlausible`) this is the time of its emission, else the time of its receipt. Each part of the union has at most `limit` rows, and
 * the newest `limit` rows of all parts are the newest of the device.
 *
 * Events with an implausible time are in a partition of their own. Events that were stored before this partition existed, or by an older
 * node, are found at both ends of the index by the time of their emission, and sorted. Such an event keeps the place of its emission if
 * that time has passed since its receipt.
 */
export function eventsByTime({
  deviceId,
  limit,
  comesAfter,
  fromDay,
  columns,
}: Options): RawBuilder<unknown> {
  const emittedAt = sql.ref('e.emitted_at')
  const receivedAt = sql.ref('e.received_at')
  const earliest = sql`(select ${sql.raw(earliestPlausible('d.first_seen'))} from device d where d.device_id = ${deviceId})`
  const latest = sql.raw(latestPlausible('now()'))
  const isInDays =
    fromDay === undefined
      ? sql`e.event_day < ${sql.lit(WRONG_CLOCK_DAY)}::date`
      : sql`(e.event_day >= ${fromDay}::date or e.event_day = ${sql.lit(NO_DAY)}::date) and e.event_day < ${sql.lit(WRONG_CLOCK_DAY)}::date`
  const part = (table: string, time: RawBuilder<unknown>, ...conditions: RawBuilder<unknown>[]) => sql`(
    select ${columns}, ${time} as listed_at from ${sql.table(table)} e
     where e.device_id = ${deviceId} and ${sql.join([...conditions, comesAfter(time)], sql` and `)}
     order by ${time} desc, e.event_id desc limit ${limit})`
  return sql`(
    ${part('device_event', emittedAt, isInDays, sql`e.emitted_at between ${earliest} and ${latest}`)}
    union all
    ${part('device_event', receivedAt, sql`e.event_day = ${sql.lit(WRONG_CLOCK_DAY)}::date`)}
    union all
    ${part('device_event', receivedAt, isInDays, sql`e.emitted_at > ${latest}`)}
    union all
    ${part(
      // An event with a time in the distant past mostly has an id of that past, so it is in the default partition.
      fromDay === undefined ? 'device_event' : 'device_event_default',
      receivedAt,
      sql`e.event_day < ${sql.lit(WRONG_CLOCK_DAY)}::date`,
      sql`e.emitted_at < ${earliest} and e.emitted_at > ${sql.lit(CLAIMED_AT)}::timestamptz`,
    )})`
}

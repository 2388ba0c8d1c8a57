import { type RawBuilder, sql } from 'kysely'
import { CLAIMED_AT, NO_DAY } from '../../link/telemetry/device-events.ts'
import { earliestPlausible, latestPlausible, WRONG_CLOCK_DAY } from '../../link/telemetry/event-times.ts'

const WRONG_DAY = sql.raw(`date '${WRONG_CLOCK_DAY}'`)
const NO_DATE = sql.raw(`date '${NO_DAY}'`)
const CLAIM = sql.raw(`timestamptz '${CLAIMED_AT}'`)
const EARLIEST = sql.raw(earliestPlausible('d.first_seen'))
const LATEST = sql.raw(latestPlausible('now()'))

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
  const emittedAt = sql`e.emitted_at`
  const receivedAt = sql`e.received_at`
  const earliest = sql`(select ${EARLIEST} from device d where d.device_id = ${deviceId})`
  const isInDays =
    fromDay === undefined
      ? sql`e.event_day < ${WRONG_DAY}`
      : sql`(e.event_day >= ${fromDay}::date or e.event_day = ${NO_DATE}) and e.event_day < ${WRONG_DAY}`
  const part = (
    table: RawBuilder<unknown>,
    time: RawBuilder<unknown>,
    condition: RawBuilder<unknown>,
  ) => sql`(
    select ${columns}, ${time} as listed_at from ${table}
     where e.device_id = ${deviceId} and ${condition} and ${comesAfter(time)}
     order by ${time} desc, e.event_id desc limit ${limit})`
  const events = sql`device_event e`
  // An event with a time in the distant past mostly has an id of that past, so it is in the default partition.
  const oldEvents = fromDay === undefined ? events : sql`device_event_default e`
  return sql`(
    ${part(events, emittedAt, sql`${isInDays} and e.emitted_at between ${earliest} and ${LATEST}`)}
    union all
    ${part(events, receivedAt, sql`e.event_day = ${WRONG_DAY}`)}
    union all
    ${part(events, receivedAt, sql`${isInDays} and e.emitted_at > ${LATEST}`)}
    union all
    ${part(oldEvents, receivedAt, sql`e.event_day < ${WRONG_DAY} and e.emitted_at < ${earliest} and e.emitted_at > ${CLAIM}`)})`
}

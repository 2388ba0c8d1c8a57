import { type RawBuilder, sql } from 'kysely'

/**
 * Longest time by which an event may precede the first sight of its device. Devices queue events before they reach the hub for the first
 * time, for example in a factory.
 */
const BEFORE_FIRST_SIGHT = "interval '720 hours'"
/** Longest time by which the clock of a device may be ahead of the hub's. */
const AHEAD = "interval '5 minutes'"

/** SQL of the earliest plausible time of an event. `firstSeen` is SQL of the first sight of its device. */
export function earliestPlausible(firstSeen: string): string {
  return `${firstSeen} - ${BEFORE_FIRST_SIGHT}`
}

/** SQL of the latest plausible time of an event. `receivedAt` is SQL of the time of its receipt. */
export function latestPlausible(receivedAt: string): string {
  return `${receivedAt} + ${AHEAD}`
}

/**
 * SQL condition that the clock of a device was right when it emitted an event. Lists order all other events by their receipt. This is the
 * only rule for times of events; each of the parameters is SQL.
 */
export function isPlausible(times: { emittedAt: string; receivedAt: string; firstSeen: string }): string {
  return `(${times.emittedAt} between ${earliestPlausible(times.firstSeen)} and ${latestPlausible(times.receivedAt)})`
}

/**
 * Range of times, in milliseconds relative to now, that `isPlausible` accepts for every device, because a device was first seen in the past.
 * A day and a minute are left for a difference between the clocks of this node and of the database. Only events outside of it need the
 * first sight of their device.
 */
const SURE_MS = { from: -29 * 24 * 60 * 60 * 1000, to: 4 * 60 * 1000 }

/** Whether the time of an event is plausible for any device. Otherwise `isPlausible` decides. */
export function isSurelyPlausible(emittedAtMs: number): boolean {
  const aheadMs = emittedAtMs - Date.now()
  return aheadMs >= SURE_MS.from && aheadMs <= SURE_MS.to
}

/**
 * Day under which events with an implausible time are stored. No id has this day, because years in ids have four digits. It has a partition
 * of its own, whose index orders the events of a device by their receipt.
 */
export const WRONG_CLOCK_DAY = '10000-01-01'

/**
 * SQL of the seconds by which the clock of the device was ahead when it emitted the event `e`; null for a plausible time. The device is read
 * once for all events.
 */
export function clockErrorSecs(deviceId: RawBuilder<unknown>): RawBuilder<number | null> {
  const firstSeen = sql`(select d.first_seen from device d where d.device_id = ${deviceId})`
  const earliest = sql`${firstSeen} - ${sql.raw(BEFORE_FIRST_SIGHT)}`
  return sql<number | null>`case when not e.emitted_at between ${earliest} and ${LATEST}
    then round(extract(epoch from e.emitted_at - e.received_at))::bigint end`
}

const LATEST = sql.raw(latestPlausible('e.received_at'))

import { ActionError } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'

/** Time of an entry in UTC with microseconds, as text that sorts by time: `2026-11-22T01:14:05.218114Z`. */
export type At = string

/**
 * Position of an entry in a timeline. A timeline merges several sources, for example events, connections and property changes, and each
 * source has a rank. Entries of the same time are ordered by the rank of their source, then by their id in it.
 */
export type Place = { at: At; rank: number; id: string }

/**
 * Point from which the rows of a source are read, newest first: rows older than `at`, and also rows of exactly that time if `isIncluded`.
 * With `afterId`, a row of exactly that time is read only if the source lists it after the row with this id.
 */
export type Start = { at: At; isIncluded: boolean; afterId?: string }

/** SQL for a time as `At`. */
export function atOf(time: RawBuilder<unknown>): RawBuilder<At> {
  return sql<At>`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}

/** Converts a time of the API, which has milliseconds, to `At`. */
export function atOfTime(time: string): At {
  return `${new Date(time).toISOString().slice(0, -1)}000Z`
}

/** Converts `At` to a time of the API, which has milliseconds. */
export function wireTimeAt(at: At): string {
  return `${at.slice(0, 23)}Z`
}

/** SQL condition that a row of a source comes after `start` in the timeline (newest first), by time and id. */
export function comesAfter(
  start: Start | undefined,
  time: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
): RawBuilder<boolean> {
  if (!start) return sql<boolean>`true`
  const { at, isIncluded, afterId } = start
  if (afterId !== undefined) return sql<boolean>`(${time}, ${id}) < (${at}::timestamptz, ${afterId}::text)`
  return isIncluded ? sql<boolean>`${time} <= ${at}::timestamptz` : sql<boolean>`${time} < ${at}::timestamptz`
}

/**
 * Returns where to continue reading the source with the rank `ownRank`, so that its rows follow a given entry. The entry may come from this
 * or from another source; at equal times, sources are ordered by rank.
 */
export function startAfter({ at, rank, id }: Place, ownRank: number): Start {
  if (rank === ownRank) return { at, isIncluded: true, afterId: id }
  return { at, isIncluded: ownRank > rank }
}

/** Encodes the cursor of the page that begins after the given entry. */
export function writePlace({ at, rank, id }: Place): string {
  return Buffer.from(JSON.stringify([at, rank, id])).toString('base64url')
}

/** Decodes a cursor. Throws `Invalid` for a text that is no cursor of a timeline. */
export function readPlace(cursor: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(parts) && parts.length === 3) {
      const [at, rank, id] = parts
      const isPlace = typeof at === 'string' && Number.isInteger(rank) && typeof id === 'string'
      if (isPlace && AT.test(at) && !Number.isNaN(Date.parse(at)) && !id.includes('\0'))
        return { at, rank, id }
    }
  } catch {
    // A text that is no JSON is rejected below, like a cursor of another list.
  }
  throw new ActionError('Invalid', 'The cursor is not one of a timeline: start again without it.', {
    status: 409,
  })
}

const AT = /^(?!0000)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/

import type { ConnectionEndReason } from '@muster/actions'
import { sql } from 'kysely'
import type { Reader } from './budget.ts'
import { type At, atOf, type Start } from './place.ts'
import type { Search, Source, SourceRow } from './source.ts'
import { hasText } from './text-search.ts'

type Row = {
  id: string
  node_id: string
  node_name: string | null
  at: At
  ended_at: At | null
  end_reason: string | null
  /** Beginning of the next connection; null if there is none. */
  next_at: At | null
  /** End of the previous connection; null if it has not ended or if there is no previous connection (`has_previous`). */
  previous_end: At | null
  has_previous: boolean
}

/** Beginning or end of a connection. */
export type ConnectionSourceRow = SourceRow & {
  connectionId: string
  nodeId: string
  nodeName: string | undefined
  /**
   * `offlineSince` is the end of the previous connection: undefined for the first connection, and the row's own time if the connection
   * replaced an open one.
   */
  change:
    | { type: 'connected'; offlineSince: At | undefined }
    | { type: 'disconnected'; connectedAt: At; endReason: ConnectionEndReason }
}

/**
 * Reads the beginnings and ends of a device's connections. An end is left out if the next connection had begun before it, because the
 * device was connected all the time. Without such ends, connections do not overlap. Reading them by their beginnings therefore returns
 * all rows in the order of their times. Unlike other sources, it also returns rows before `since`: the first of them shows whether the
 * device was connected at that time.
 */
export function connectionSource(
  reader: Reader,
  rank: number,
  { deviceId, text, category }: Search,
  first: Start | undefined,
): Source<ConnectionSourceRow> {
  let before: Start | undefined = first && { at: first.at, isIncluded: true }
  return {
    rank,
    async next(limit) {
      for (;;) {
        const atMost = reader.rows(limit)
        const rows = await reader.read(connections(deviceId, before, atMost))
        const isEnd = rows.length < atMost
        const last = rows.at(-1)
        if (last) before = { at: last.at, isIncluded: true, afterId: last.id }
        const found = rows
          .flatMap(row => changesOf(row))
          .map(row => ({
            ...row,
            isMatch:
              category === undefined &&
              hasText(text, row.nodeName, row.nodeId, row.connectionId, wordsOf(row.change)),
          }))
          .filter(row => isAfter(row, first))
        // The query also returns connections that began exactly at the cursor's time. If the filter above drops all rows that were read,
        // the loop reads further rows.
        if (found.length > 0 || isEnd) return { rows: found, isEnd }
      }
    },
  }
}

function connections(deviceId: string, start: Start | undefined, limit: number) {
  const isBefore =
    start?.afterId === undefined
      ? start
        ? sql`c.connected_at <= ${start.at}::timestamptz`
        : sql`true`
      : sql`c.connected_at <= ${start.at}::timestamptz and (c.connected_at < ${start.at}::timestamptz or c.connection_id > ${start.afterId})`
  return sql<Row>`
    select c.connection_id as id, c.node_id, n.name as node_name, ${atOf(sql`c.connected_at`)} as at,
           ${atOf(sql`c.ended_at`)} as ended_at, c.end_reason, ${atOf(sql`later.connected_at`)} as next_at,
           ${atOf(sql`earlier.ended_at`)} as previous_end, earlier.connection_id is not null as has_previous
      from (
        select * from device_connection c where c.device_id = ${deviceId} and ${isBefore}
         order by c.connected_at desc, c.connection_id limit ${limit}
      ) c
      left join cluster_node n on n.node_id = c.node_id
      left join lateral (
        select l.connected_at from device_connection l
         where l.device_id = ${deviceId} and l.connected_at > c.connected_at order by l.connected_at limit 1
      ) later on true
      left join lateral (
        select e.connection_id, e.ended_at from device_connection e
         where e.device_id = ${deviceId} and e.connected_at < c.connected_at order by e.connected_at desc limit 1
      ) earlier on true
     order by c.connected_at desc, c.connection_id`
}

/** The end and the beginning of a connection, in this order. */
function changesOf(row: Row): Omit<ConnectionSourceRow, 'isMatch'>[] {
  const common = {
    kind: 'connection' as const,
    connectionId: row.id,
    nodeId: row.node_id,
    nodeName: row.node_name ?? undefined,
  }
  const began = {
    ...common,
    at: row.at,
    // The prefix orders rows with the same time. The timeline is sorted by id in descending order, so the end of a connection is listed
    // above its beginning.
    id: `a ${row.id}`,
    severity: 'Info' as const,
    change: {
      type: 'connected' as const,
      offlineSince: !row.has_previous
        ? undefined
        : row.previous_end !== null && row.previous_end < row.at
          ? row.previous_end
          : row.at,
    },
  }
  if (row.ended_at === null || (row.next_at !== null && row.ended_at >= row.next_at)) return [began]
  const endReason = (row.end_reason ?? 'Unknown') as ConnectionEndReason
  const ended = {
    ...common,
    at: row.ended_at < row.at ? row.at : row.ended_at,
    id: `b ${row.id}`,
    severity: 'Warning' as const,
    change: { type: 'disconnected' as const, connectedAt: row.at, endReason },
  }
  return [ended, began]
}

function isAfter({ at, id }: { at: At; id: string }, start: Start | undefined): boolean {
  if (!start) return true
  if (at !== start.at) return at < start.at
  return start.isIncluded && (start.afterId === undefined || id < start.afterId)
}

/** Words of the row in which the text of a search may occur, besides its node and its id. */
function wordsOf(change: ConnectionSourceRow['change']): string {
  return change.type === 'connected' ? 'connected' : `disconnected ${change.endReason}`
}

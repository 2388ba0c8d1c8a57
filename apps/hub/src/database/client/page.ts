import { ActionError } from '@muster/actions'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { type Db, select } from './connection.ts'

/** What a list can be sorted by: the expression, and the type that its text form is read back as. */
export type SortKey = {
  by: RawBuilder<unknown>
  type: 'text' | 'timestamptz' | 'integer' | 'bigint' | 'boolean'
}

export type PageInput = {
  limit?: number | undefined
  cursor?: string | undefined
  sort?: string | undefined
  /**
   * Count what matches with the first page; on unless told otherwise. `along` counts in the pass that finds the page: half the work
   * where a row must be looked at to know whether it matches, as with a filter by text. `whole` tells the count of a page that is
   * all there is, and counts nothing.
   */
  countTotal?: boolean | 'along' | 'whole'
  /** The database, for a page of few rows that an index has in order: it is asked for as what is looked up by key (`select`). */
  lookUpIn?: Db | undefined
}

// Which tables a query has joined does not matter here, and Kysely's builder is invariant in them.
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyQuery<Row> = SelectQueryBuilder<any, any, Row>

type Page<Row> = { rows: Row[]; nextCursor?: string; total?: number }

/**
 * Runs a list query a page at a time, ordered by one key and the id, continued after the last row and not by a count, so that
 * rows that come and go between two pages shift nothing. Without `limit` the whole list is answered. Throws `Invalid` for a
 * cursor of another sort.
 */
export async function queryPage<Row>(
  query: AnyQuery<Row>,
  { limit, cursor, sort, countTotal = true, lookUpIn }: PageInput,
  sorts: Record<string, SortKey>,
  id: RawBuilder<unknown>,
  defaultSort: string,
): Promise<Page<Row>> {
  const order = sort ?? defaultSort
  const isDescending = order.startsWith('-')
  const key = sorts[isDescending ? order.slice(1) : order]!
  const direction = sql.raw(isDescending ? 'desc' : 'asc')
  const comparison = sql.raw(isDescending ? '<' : '>')

  const wantsTotal = countTotal && limit !== undefined && cursor === undefined
  const countsAlong = wantsTotal && countTotal === 'along'
  let paged = query
    .$if(limit !== undefined, pages =>
      pages.select([sql<string>`(${key.by})::text`.as('__key'), sql<string>`(${id})::text`.as('__id')]),
    )
    .$if(countsAlong, first => first.select(sql<number>`count(*) over ()`.as('__total')))
    .orderBy(sql`${key.by} ${direction}, ${id} ${direction}`)
  if (cursor !== undefined) {
    const [value, lastId] = readCursor(cursor, order)
    paged = paged.where(
      sql<boolean>`(${key.by}, ${id}) ${comparison} (${value}::${sql.raw(key.type)}, ${lastId})`,
    )
  }
  if (limit !== undefined) paged = paged.limit(limit + 1)

  type Found = Row & RowPlace & { __total?: number }
  const found = lookUpIn ? await lookUp<Found>(lookUpIn, paged) : ((await paged.execute()) as Found[])
  const page = cutPage(found, limit, order)
  if (!wantsTotal) return page
  if (page.nextCursor === undefined) return { ...page, total: page.rows.length }
  return countTotal === 'whole' ? page : { ...page, total: page.rows[0]!.__total ?? (await count(query)) }
}

/** Where a row stands in its list: what it is sorted by, as text, and its id. */
export type RowPlace = { __key: string; __id: string }

/** A page of what was found in this order, of which one row more than a page was asked for. */
export function cutPage<Row extends RowPlace>(
  found: Row[],
  limit: number | undefined,
  order: string,
): { rows: Row[]; nextCursor?: string } {
  if (limit === undefined || found.length <= limit) return { rows: found }
  const last = found[limit - 1]!
  return { rows: found.slice(0, limit), nextCursor: writeCursor(order, last.__key, last.__id) }
}

/**
 * Where a page of large rows ends: the number of its first rows that have at most `maxBytes` together, one at least. The next page
 * goes on there.
 */
export function rowsWithin(maxBytes: number, measured: { bytes: number }[]): number {
  let bytes = 0
  const tooMany = measured.findIndex(row => {
    bytes += row.bytes
    return bytes > maxBytes
  })
  return Math.max(1, tooMany === -1 ? measured.length : tooMany)
}

function lookUp<Row extends object>(db: Db, query: AnyQuery<unknown>): Promise<Row[]> {
  const { sql: text, parameters } = query.compile()
  return select<Row>(db, text, [...parameters])
}

async function count<Row>(query: AnyQuery<Row>): Promise<number> {
  const { count } = await query
    .clearSelect()
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function writeCursor(order: string, value: string, id: string): string {
  return Buffer.from(JSON.stringify([order, value, id])).toString('base64url')
}

/** Where a cursor of that order stands: the sorted value of the last row, as text, and its id. Throws `Invalid` for any other. */
export function readCursor(cursor: string, order: string): [value: string, id: string] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (
      Array.isArray(parts) &&
      parts.length === 3 &&
      parts[0] === order &&
      parts.every(part => typeof part === 'string')
    ) {
      return [parts[1] as string, parts[2] as string]
    }
  } catch {
    // Told below with every other cursor that is not ours.
  }
  throw new ActionError('Invalid', 'The cursor is not one of a list in this order: start again without it.', {
    status: 409,
  })
}

/** Condition that some of these columns hold a text, in any case; true without a text. */
export function matchesText(
  text: string | undefined,
  ...columns: RawBuilder<unknown>[]
): RawBuilder<boolean> {
  if (!text) return sql<boolean>`true`
  // A third cheaper than `ilike`, which prepares its pattern anew for each row.
  return sql<boolean>`(${sql.join(
    columns.map(column => sql`strpos(lower(${column}), lower(${text}::text)) > 0`),
    sql` or `,
  )})`
}

/** Pattern for `like` that finds a text anywhere. */
export function partPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

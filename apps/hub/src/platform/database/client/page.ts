import { ActionError } from '@muster/actions'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { type Db, select } from './connection.ts'

/** A sort key of a list: the SQL expression, and the type to which the text in a cursor is cast. */
export type SortKey = {
  by: RawBuilder<unknown>
  type: 'text' | 'timestamptz' | 'integer' | 'bigint' | 'boolean'
}

export type PageInput = {
  limit?: number | undefined
  cursor?: string | undefined
  sort?: string | undefined
  /**
   * Whether and how the first page gets the total number of matches. `true`, the default, counts with a second query. `along`
   * counts in the query of the page; this halves the work for a filter that reads each row, such as a text filter. `whole` runs no
   * count, and returns the total only if the first page is the whole list.
   */
  countTotal?: boolean | 'along' | 'whole'
  /**
   * Database whose shared look-up connection reads the page. Set only for a page of few rows that an index returns in
   * order, because look-ups must be fast.
   */
  lookUpIn?: Db | undefined
}

// Kysely's builder is invariant in the joined tables, which do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyQuery<Row> = SelectQueryBuilder<any, any, Row>

type Page<Row> = { rows: Row[]; nextCursor?: string; total?: number }

/**
 * Reads one page of a list, ordered by a sort key and the id. A cursor continues after the last row, not at an offset, so that rows
 * added or deleted between two pages do not shift later pages. Without `limit` it reads the whole list. Throws `Invalid` for a
 * cursor of another sort order.
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
  return countTotal === 'whole' ? page : { ...page, total: page.rows[0]!.__total ?? (await countRows(query)) }
}

/** Position of a row in its list: the sort key as text, and the id. */
export type RowPlace = { __key: string; __id: string }

/** Truncates rows to a page. The query must have read `limit + 1` rows; an extra row means that another page follows. */
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
 * Number of leading rows whose sizes add up to at most `maxBytes`, but at least 1. A page of large rows ends after these rows, and
 * the next page begins with the row after them.
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

/** Number of rows that a query finds. */
export async function countRows<Row>(query: AnyQuery<Row>): Promise<number> {
  const { count } = await query
    .clearSelect()
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function writeCursor(order: string, value: string, id: string): string {
  return Buffer.from(JSON.stringify([order, value, id])).toString('base64url')
}

/**
 * Decodes a cursor into the last row's sort key, as text, and id. Throws `Invalid` if the cursor is malformed or belongs to another
 * sort order.
 */
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
    // A malformed cursor is rejected below, like a cursor of another sort order.
  }
  throw wrongCursor()
}

/** Order of the list to which a cursor belongs; `undefined` if the cursor is malformed. */
export function cursorOrder(cursor: string): string | undefined {
  try {
    const [order]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return typeof order === 'string' ? order : undefined
  } catch {
    return undefined
  }
}

/** Makes the error for a malformed cursor and for a cursor of another sort order. */
export function wrongCursor(): ActionError {
  return new ActionError(
    'Invalid',
    'The cursor is not one of a list in this order: start again without it.',
    {
      status: 409,
    },
  )
}

/** Condition that at least one of the columns contains a text, ignoring case; true without a text. */
export function matchesText(
  text: string | undefined,
  ...columns: RawBuilder<unknown>[]
): RawBuilder<boolean> {
  if (!text) return sql<boolean>`true`
  // `strpos` on lower-case text costs a third less than `ilike`, which prepares its pattern for each row.
  return sql<boolean>`(${sql.join(
    columns.map(column => sql`strpos(lower(${column}), lower(${text}::text)) > 0`),
    sql` or `,
  )})`
}

/** Pattern for `like` that matches a text anywhere in a value. */
export function partPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

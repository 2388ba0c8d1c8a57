import { ActionError, type ParsedInput, SCANNING_DEVICE_SORT } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { HAS_SHARED_IDENTITY } from '../../link/gateway/shared-identity.ts'
import { runBrief } from '../../platform/database/client/brief.ts'
import { type Db, STATEMENT_TIMEOUT_MS, withQueryOptions } from '../../platform/database/client/connection.ts'
import { isCancelled } from '../../platform/database/client/errors.ts'
import { countRows, queryPage } from '../../platform/database/client/page.ts'
import { matchesFilter } from './device-filter.ts'
import { LAST_SEEN_ORDER } from './last-seen-order.ts'
import { pageByProperty } from './property-order.ts'
import { columnText } from './property-paths.ts'

type Input = ParsedInput<'projects_QueryDevices'>

/**
 * Largest page, in devices, that is read over the connection for look-ups (`platform/database/client/look-ups.ts`). All requests share this
 * connection, so the page must be small.
 */
const MAX_LOOK_UP = 100

const SORTS = {
  name: { by: sql`coalesce(d.name, d.hostname, '')`, type: 'text' },
  deviceId: { by: sql`d.device_id`, type: 'text' },
  firstSeen: { by: sql`d.first_seen`, type: 'timestamptz' },
  status: { by: sql`d.is_connected`, type: 'boolean' },
  pendingCertificatesCount: { by: sql`d.pending_certificates`, type: 'integer' },
  lastSeenAt: { by: LAST_SEEN_ORDER, type: 'timestamptz' },
} as const

/** State of the update of a device, from its row `u` of `device_update`. */
const UPDATE = sql<
  (string | null)[]
>`array[u.current_version, u.target_version, u.state, u.failure_count::text, u.error]`
/** Subquery for the columns of `UPDATE` in a page. PostgreSQL evaluates it after sort and limit, so it looks up only the page's rows. */
const UPDATE_OF_PAGE = sql<
  (string | null)[] | null
>`(select ${UPDATE} from device_update u where u.device_id = d.device_id)`

/**
 * End of a device's last connection, looked up for the page's disconnected devices only. It is null for a connected device. The
 * device's row has only the beginning of the connection.
 */
const LAST_SEEN_OF_PAGE = sql<string | null>`case when not d.is_connected then (
  select coalesce(c.ended_at, c.connected_at)::text from device_connection c where c.device_id = d.device_id
   order by c.connected_at desc limit 1) end`

/**
 * Values of `sort` whose order the index `device_by_first_seen` provides, forwards or backwards; without a value, devices are sorted by
 * first seen. A device that reconnects keeps its place in these orders.
 */
const FIRST_SEEN_ORDERS: readonly (string | undefined)[] = [undefined, 'firstSeen', '-firstSeen']

/** A row of the device list. */
export type DeviceRow = Awaited<ReturnType<ReturnType<typeof devicesQuery>['execute']>>[number] & {
  update: (string | null)[] | null
  last_seen_at: string | null
}

/** Query for the devices of a project that match a filter, not sorted. */
function devicesQuery(db: Db, { projectId, filter, columns = [] }: Input) {
  return db
    .selectFrom('device as d')
    .where('d.project_id', '=', projectId)
    .where(matchesFilter(filter, projectId))
    .select([
      'd.device_id',
      'd.name',
      'd.hostname',
      sql<string>`d.first_seen::text`.as('first_seen'),
      'd.is_connected',
      'd.pending_certificates',
      'd.health',
      sql<string | null>`d.last_connected_at::text`.as('last_connected_at'),
      HAS_SHARED_IDENTITY.as('has_shared_identity'),
      columnTexts(columns).as('texts'),
    ])
}

/** Adds the states of the devices' updates to a query. */
function withUpdates(query: ReturnType<typeof devicesQuery>, { limit }: Input) {
  // The whole list needs the update of every device. For 20,000 devices a join takes 30 ms, single look-ups take 150 ms.
  return limit === undefined
    ? query
        .leftJoin('device_update as u', 'u.device_id', 'd.device_id')
        .select([UPDATE.as('update'), sql<string | null>`null`.as('last_seen_at')])
    : query.select([UPDATE_OF_PAGE.as('update'), LAST_SEEN_OF_PAGE.as('last_seen_at')])
}

type DevicePage = { rows: DeviceRow[]; nextCursor?: string; total?: number }

/**
 * Reads a page of the devices of a project that match a filter. PostgreSQL cancels a filtered page, and a page in a sort order without
 * an index, when `signal` aborts. A page in such a sort order may take at most 2 s. Throws `Invalid` after the 2 s, and for a cursor of
 * another sort order.
 */
export async function readDevicePage(db: Db, signal: AbortSignal, input: Input): Promise<DevicePage> {
  const { sort, limit, filter } = input
  const isScan = sort !== undefined && SCANNING_DEVICE_SORT.test(sort)
  // Without `limit` the caller wants the whole list. Only the statement timeout bounds it; the 2 s are for single pages.
  if (limit === undefined) {
    if (!isScan)
      return pageByIndex(isFiltered(filter) ? withQueryOptions(db, { plan: 'by values' }) : db, input)
    return db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(tx => pageByScan(tx, input))
  }
  if (!isScan)
    return isFiltered(filter)
      ? runBrief(db, signal, tx => pageByIndex(tx, input), STATEMENT_TIMEOUT_MS)
      : pageByIndex(db, input)
  try {
    return await runBrief(db, signal, tx => pageByScan(tx, input))
  } catch (error) {
    if (!isCancelled(error)) throw error
    const message = 'Sorting the devices took longer than 2 s: filter the list, or sort it by another column.'
    throw new ActionError('Invalid', message, { status: 409, cause: error })
  }
}

/** Whether a filter has a condition. A caller may send an empty one. */
function isFiltered(filter: Partial<NonNullable<Input['filter']>> = {}): boolean {
  return Object.values(filter).some(condition => condition !== undefined)
}

/** Page in a sort order that an index of `device` provides. */
function pageByIndex(db: Db, input: Input): Promise<DevicePage> {
  const { filter, countTotal, columns = [], ...page } = input
  const query = devicesQuery(db, input)
  // A filter by status alone lets a second query count the total in an index (`true`). Every other filter reads the row of each device,
  // so the query of the page counts the total as well (`along`).
  const { status: _, ...others } = filter ?? {}
  const counting = isFiltered(others) ? 'along' : true
  // A small page without filter, sorted by first seen, comes from an index. It is fast enough for the connection for look-ups, which
  // all requests share.
  const isLookUp =
    !isFiltered(filter) &&
    columns.length === 0 &&
    FIRST_SEEN_ORDERS.includes(page.sort) &&
    (page.limit ?? Infinity) <= MAX_LOOK_UP
  return queryPage(
    withUpdates(query, input),
    {
      ...page,
      countTotal: countTotal === false ? 'whole' : counting,
      lookUpIn: isLookUp ? db : undefined,
    },
    SORTS,
    sql`d.device_id`,
    'firstSeen',
  )
}

/** Page in a sort order for which all devices of the project, or many entries of an index, may have to be read. */
async function pageByScan(db: Db, input: Input): Promise<DevicePage> {
  const { countTotal, ...page } = input
  const query = withUpdates(devicesQuery(db, input), input)
  const sort = input.sort!
  const property = /^-?=(.+)$/.exec(sort)?.[1]
  if (property === undefined) {
    const counting = countTotal === false ? 'whole' : 'along'
    return queryPage(query, { ...page, countTotal: counting }, SORTS, sql`d.device_id`, 'firstSeen')
  }
  const order = { property, isDescending: sort.startsWith('-') }
  const found = await pageByProperty(db, query, order, { ...page, sort })
  if (input.limit === undefined || input.cursor !== undefined) return found
  if (found.nextCursor === undefined) return { ...found, total: found.rows.length }
  return countTotal === false ? found : { ...found, total: await countRows(query) }
}

/** Texts of the property columns, in the order of `columns`. Null if there are no property columns. */
function columnTexts(columns: readonly string[]): RawBuilder<(string | null)[] | null> {
  if (columns.length === 0) return sql`null::text[]`
  return sql`array[${sql.join(columns.map(columnText))}]`
}

import { ActionError, type ParsedInput, SCANNING_DEVICE_SORT } from '@muster/actions'
import { DEVICE_FIELDS, type DeviceSortName } from '@muster/predicates'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { runBrief } from '../../platform/database/client/brief.ts'
import { type Db, STATEMENT_TIMEOUT_MS, withQueryOptions } from '../../platform/database/client/connection.ts'
import { isCancelled } from '../../platform/database/client/errors.ts'
import { countRows, cursorOrder, queryPage, type SortKey } from '../../platform/database/client/page.ts'
import { labelOfDevice, labelOfPath, labelsOfDevice } from '../labels/index.ts'
import { matchesFilter } from './device-filter.ts'
import { type DeviceMatch, matchesOf } from './device-search.ts'
import { DEVICE_SQL, LAST_SEEN_ORDER, PROBLEM_ORDER, UPDATE_SQL } from './device-sql.ts'
import { hasAllNameKeys } from './name-keys.ts'
import { pageByProperty } from './property-order.ts'
import { columnText } from './property-paths.ts'
import { pageByVersion } from './version-order.ts'

type Input = ParsedInput<'projects_QueryDevices'>

/**
 * Largest page, in devices, that is read over the connection for look-ups (`platform/database/client/look-ups.ts`). All requests share this
 * connection, so the page must be small.
 */
const MAX_LOOK_UP = 100

const SORTS = {
  // Order of a project with devices that have no key of their name yet. The index `device_by_name` has this expression.
  name: { by: sql`coalesce(d.name, d.hostname, '')`, type: 'text' },
  deviceId: { by: DEVICE_SQL.deviceId, type: 'text' },
  firstSeen: { by: DEVICE_SQL.firstSeen, type: 'timestamptz' },
  status: { by: DEVICE_SQL.connected, type: 'boolean' },
  pendingCertificatesCount: { by: DEVICE_SQL.pendingCertificatesCount, type: 'integer' },
  lastSeenAt: { by: LAST_SEEN_ORDER, type: 'timestamptz' },
  problems: { by: PROBLEM_ORDER, type: 'text' },
  nameKey: { by: sql.ref('d.name_key'), type: 'text' },
} as const satisfies Record<Exclude<DeviceSortName, 'currentVersion'> | 'nameKey', SortKey>

const UPDATE_FIELDS = Object.keys(UPDATE_SQL)
/** Values of `UPDATE_FIELDS` as texts, from the row `u` of `device_update`. */
const UPDATE = sql`array[${sql.join(Object.values(UPDATE_SQL).map(value => sql`${value}::text`))}]`
/** `UPDATE` of a joined row, null without one: the driver takes several microseconds for an array of nulls. */
const UPDATE_IF_ANY = sql`case when u.device_id is not null then ${UPDATE} end`
/** Subquery for `UPDATE` in a page. PostgreSQL evaluates it after sort and limit, so it looks up only the page's rows. */
const UPDATE_OF_PAGE = sql`(select ${UPDATE} from device_update u where u.device_id = d.device_id)`

/**
 * Values of `sort` whose order the index `device_by_first_seen` provides, forwards or backwards; without a value, devices are sorted by
 * first seen. A device that reconnects keeps its place in these orders.
 */
const FIRST_SEEN_ORDERS: readonly (string | undefined)[] = [undefined, 'firstSeen', '-firstSeen']

/** A row of the device list: the fields of `DEVICE_SQL`, the texts of the property columns, the fields of the update, and others. */
export type DeviceRow = {
  [Name in keyof typeof DEVICE_SQL]: (typeof DEVICE_SQL)[Name] extends RawBuilder<infer Value> ? Value : never
} & {
  texts: (string | null)[] | null
  update: (string | null)[] | null
  labels: Record<string, string> | null
  /** Where the text of the filter was found. */
  match?: DeviceMatch | undefined
}

/** Value of a field of the device's update as text; `undefined` if the device reports none. */
export function updateText({ update }: DeviceRow, name: keyof typeof UPDATE_SQL): string | undefined {
  return update?.[UPDATE_FIELDS.indexOf(name)] ?? undefined
}

/** Query for the devices of a project that match a filter, not sorted, with all fields of their rows. */
async function devicesQuery(db: Db, { projectId, filter, columns = [], limit }: Input) {
  const isWhole = limit === undefined
  return (
    matchingQuery(db, projectId, await matchesFilter(db, filter, projectId))
      // The whole list needs the update of every device. For 20,000 devices a join takes 30 ms, single look-ups take 150 ms.
      .$if(isWhole, query =>
        query.leftJoin('device_update as u', 'u.device_id', 'd.device_id').leftJoin(
          db
            .selectFrom('device_label as l')
            .where('l.project_id', '=', projectId)
            .groupBy('l.device_id')
            .select(['l.device_id', sql`jsonb_object_agg(l.key, l.value)`.as('labels')])
            .as('labels_of'),
          'labels_of.device_id',
          'd.device_id',
        ),
      )
      .select([
        ...FIELDS.map(name => selected(name, isWhole).as(name)),
        columnTexts(columns).as('texts'),
        (isWhole ? UPDATE_IF_ANY : UPDATE_OF_PAGE).as('update'),
        (isWhole ? sql`labels_of.labels` : labelsOfDevice).as('labels'),
      ])
      .$castTo<DeviceRow>()
  )
}

const FIELDS = Object.keys(DEVICE_SQL) as (keyof typeof DEVICE_SQL)[]

function matchingQuery(db: Db, projectId: string, condition: RawBuilder<boolean>) {
  return db.selectFrom('device as d').where('d.project_id', '=', projectId).where(condition)
}

/**
 * Reads a page whose rows PostgreSQL has to sort or count, with `read`. It gets a query for the ids alone, and the fields of the page's rows
 * are read after it: PostgreSQL evaluates fields that it thinks cheap, such as labels while few devices have any, before the limit, for each of
 * 100,000 devices. The whole list, without `limit`, is read at once.
 */
async function readIdsFirst(
  db: Db,
  input: Input,
  read: (query: AnyQuery<Pick<DeviceRow, 'deviceId'>>) => Promise<Page>,
): Promise<DevicePage> {
  const { projectId, filter, limit } = input
  if (limit === undefined) {
    const whole = (await read(await devicesQuery(db, input))) as DevicePage
    return { ...whole, rows: await withMatches(db, input, whole.rows) }
  }
  const matching = matchingQuery(db, projectId, await matchesFilter(db, filter, projectId))
  const { rows, ...page } = await read(matching.select('d.device_id as deviceId') as never)
  const ids = rows.map(row => row.deviceId)
  if (ids.length === 0) return { rows: [], ...page }
  const query = await devicesQuery(db, { ...input, filter: undefined })
  const found = await query
    // Without columns of properties, each page has this text. Planning it takes longer than running it. The comment prepares it
    // (`preparing-client.ts`).
    .$if(input.columns === undefined || input.columns.length === 0, fields =>
      fields.modifyFront(sql`/* one plan */`),
    )
    .where(sql<boolean>`d.device_id = any (${ids}::text[])`)
    .execute()
  const byId = new Map(found.map(row => [row.deviceId, row]))
  return {
    ...page,
    rows: await withMatches(
      db,
      input,
      ids.flatMap(id => byId.get(id) ?? []),
    ),
  }
}

/** Adds to each row where the text of the filter was found, if there is one. */
async function withMatches(db: Db, { projectId, filter }: Input, rows: DeviceRow[]): Promise<DeviceRow[]> {
  if (!filter?.text) return rows
  const matches = await matchesOf(db, projectId, filter.text, rows)
  return rows.map(row => ({ ...row, match: matches.get(row.deviceId) }))
}

function selected(name: keyof typeof DEVICE_SQL, isWhole: boolean): RawBuilder<unknown> {
  // The end of a device's last connection is looked up for the rows of a page only.
  if (isWhole && name === 'lastSeen') return sql`null`
  const value: RawBuilder<unknown> = DEVICE_SQL[name]
  return DEVICE_FIELDS[name].type === 'time' ? sql`${value}::text` : value
}

// Kysely's builder is invariant in the joined tables, which do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyQuery<Row> = SelectQueryBuilder<any, any, Row>
type Page<Row = Pick<DeviceRow, 'deviceId'>> = { rows: Row[]; nextCursor?: string; total?: number }
type DevicePage = Page<DeviceRow>

/**
 * Reads a page of the devices of a project that match a filter. PostgreSQL cancels a filtered page, and a page in a sort order without
 * an index, when `signal` aborts. A page in such a sort order may take at most 2 s. Throws `Invalid` after the 2 s, and for a cursor of
 * another sort order.
 */
export async function readDevicePage(db: Db, signal: AbortSignal, given: Input): Promise<DevicePage> {
  const input: PageInput = { ...given, sort: await storedSort(db, given) }
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

/** Input of a page, in an order that the contract has or in the one of the keys of names. */
type PageInput = Input & { sort?: string | undefined }

/**
 * The order by name becomes the order by the keys of names where all devices of the project have one. A list ends in the order in which it
 * began, so that no page repeats or leaves out devices.
 */
async function storedSort(db: Db, { projectId, sort, cursor }: Input): Promise<string | undefined> {
  if (sort !== 'name' && sort !== '-name') return sort
  const byKey = sort.replace('name', 'nameKey')
  if (cursor !== undefined) return cursorOrder(cursor) === byKey ? byKey : sort
  return (await hasAllNameKeys(db, projectId)) ? byKey : sort
}

/** Whether a filter has a condition. A caller may send an empty one. */
function isFiltered(filter: Partial<NonNullable<Input['filter']>> = {}): boolean {
  return Object.values(filter).some(condition => condition !== undefined)
}

/** Page in a sort order that an index of `device` provides. */
async function pageByIndex(db: Db, input: PageInput): Promise<DevicePage> {
  const { filter, countTotal, columns = [], ...page } = input
  // A filter by status alone lets a second query count the total in an index (`true`). Every other filter reads the row of each device,
  // so the query of the page counts the total as well (`along`).
  const { status: _, ...others } = filter ?? {}
  const counting = isFiltered(others) ? ('along' as const) : true
  // A small page without filter, sorted by first seen, comes from an index. It is fast enough for the connection for look-ups, which
  // all requests share.
  const isLookUp =
    !isFiltered(filter) &&
    columns.length === 0 &&
    FIRST_SEEN_ORDERS.includes(page.sort) &&
    (page.limit ?? Infinity) <= MAX_LOOK_UP
  const options = {
    ...page,
    countTotal: countTotal === false ? ('whole' as const) : counting,
    lookUpIn: isLookUp ? db : undefined,
  }
  const id = sql`d.device_id`
  if (isFiltered(others))
    return readIdsFirst(db, input, query => queryPage(query, options, SORTS, id, 'firstSeen'))
  return queryPage(await devicesQuery(db, input), options, SORTS, id, 'firstSeen')
}

/** Page in a sort order for which all devices of the project, or many entries of an index, may have to be read. */
async function pageByScan(db: Db, input: PageInput): Promise<DevicePage> {
  return readIdsFirst(db, input, query => scannedPage(db, query, input))
}

async function scannedPage<Row>(db: Db, query: AnyQuery<Row>, input: PageInput): Promise<Page<Row>> {
  const { countTotal, ...page } = input
  const sort = input.sort!
  const property = /^-?=(.+)$/.exec(sort)?.[1]
  const isByVersion = sort === 'currentVersion' || sort === '-currentVersion'
  const label = property === undefined ? undefined : labelOfPath(property)
  if ((property === undefined && !isByVersion) || label !== undefined) {
    const sorts = label === undefined ? SORTS : { [`=${property}`]: labelOrder(label, sort.startsWith('-')) }
    const counting = countTotal === false ? 'whole' : 'along'
    return queryPage(query, { ...page, countTotal: counting }, sorts, sql`d.device_id`, 'firstSeen')
  }
  const found =
    property === undefined
      ? await pageByVersion(query, { ...page, sort })
      : await pageByProperty(db, query, { property, isDescending: sort.startsWith('-') }, { ...page, sort })
  if (input.limit === undefined || input.cursor !== undefined) return found
  if (found.nextCursor === undefined) return { ...found, total: found.rows.length }
  return countTotal === false ? found : { ...found, total: await countRows(query) }
}

/** Order by the value of a label. Devices without it are last in both sort directions. */
function labelOrder(key: string, isDescending: boolean): SortKey {
  const value = labelOfDevice(key)
  return {
    by: isDescending ? sql`coalesce('1' || ${value}, '0')` : sql`coalesce('0' || ${value}, '1')`,
    type: 'text',
  }
}

/** Texts of the property columns, in the order of `columns`. Null if there are no property columns. */
function columnTexts(columns: readonly string[]): RawBuilder<unknown> {
  if (columns.length === 0) return sql`null::text[]`
  return sql`array[${sql.join(columns.map(columnText))}]`
}

import { ActionError } from '@muster/actions'
import { sortVersions } from '@muster/predicates/version-order'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { cutPage, type RowPlace, readCursor } from '../../platform/database/client/page.ts'

/** Maximum number of different versions among the devices of a list that is sorted by version. Sorting them takes about 50 ms. */
const MAX_VERSIONS = 10_000

// Kysely's builder is invariant in the joined tables, which do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type DeviceQuery<Row> = SelectQueryBuilder<any, any, Row>

/** The last row of the page before: its version, or null for a device without one, and its id. */
type Place = { version: string | null; deviceId: string }

/** Whether the texts of a property are versions, which its name says: `version`, `app.version`, `currentVersion`. */
export function isVersionProperty(name: string): boolean {
  return /version$/i.test(name)
}

/**
 * Reads one page of devices sorted by the version that they report (`sortVersions`). Devices without a version are last in both sort
 * directions. `devices` selects from the devices `d` of a project. Without `limit` it reads the whole list. Throws `Invalid` for a cursor
 * of another sort order, and for more versions than can be sorted.
 */
export async function pageByVersion<Row>(
  devices: DeviceQuery<Row>,
  { sort, cursor, limit }: { sort: string; cursor?: string | undefined; limit?: number | undefined },
): Promise<{ rows: Row[]; nextCursor?: string }> {
  const joined = devices.leftJoin('device_update as v', 'v.device_id', 'd.device_id')
  const [version = '', deviceId = ''] = cursor === undefined ? [] : readCursor(cursor, sort)
  const query = await inVersionOrder(joined, {
    version: sql.ref<string | null>('v.current_version'),
    isDescending: sort.startsWith('-'),
    after: cursor === undefined ? undefined : { version: version || null, deviceId },
    count: limit === undefined ? undefined : limit + 1,
  })
  const rows = await query.select(sql<string>`coalesce(v.current_version, '')`.as('__key')).execute()
  return cutPage(rows as (Row & RowPlace)[], limit, sort)
}

type VersionOrder = {
  /** SQL of the version of a row. */
  version: RawBuilder<string | null>
  isDescending: boolean
  after: Place | undefined
  count: number | undefined
}

/**
 * Query for the rows after a place in the order of their versions. PostgreSQL cannot compare versions, so it first lists the different
 * ones, which are few, and then gets their sequence.
 */
export async function inVersionOrder<Row>(
  rows: DeviceQuery<Row>,
  { version, isDescending, after, count }: VersionOrder,
): Promise<DeviceQuery<Row & Pick<RowPlace, '__id'>>> {
  const found = await rows
    .clearSelect()
    .select(version.as('version'))
    .where(sql<boolean>`${version} is not null`)
    .distinct()
    .limit(MAX_VERSIONS + 1)
    .$castTo<{ version: string }>()
    .execute()
  if (found.length > MAX_VERSIONS)
    throw new ActionError(
      'Invalid',
      `The devices have more than ${MAX_VERSIONS} versions: filter the list, or sort it by another column.`,
      { status: 409 },
    )
  const known = found.map(row => row.version)
  // A place keeps its meaning when its version has left the devices since.
  if (typeof after?.version === 'string') known.push(after.version)
  const sequence = sortVersions([...new Set(known)])
  const absent = isDescending ? 0 : sequence.length + 1
  const ranks = sql`(select * from unnest(${sequence}::text[]) with ordinality as r (version, rank))`
  const rank = sql<number>`coalesce(r.rank, ${absent})`
  const comparison = sql.raw(isDescending ? '<' : '>')
  const direction = sql.raw(isDescending ? 'desc' : 'asc')
  const afterRank = after && (after.version === null ? absent : sequence.indexOf(after.version) + 1)
  const ranked: unknown = rows.leftJoin(ranks.as('r'), join => join.on(sql<boolean>`r.version = ${version}`))
  return (ranked as DeviceQuery<Row>)
    .$if(after !== undefined, some =>
      some.where(
        sql<boolean>`(${rank}, d.device_id) ${comparison} (${afterRank!}::bigint, ${after!.deviceId})`,
      ),
    )
    .select('d.device_id as __id')
    .orderBy(sql`${rank} ${direction}, d.device_id ${direction}`)
    .$if(count !== undefined, some => some.limit(count!)) as DeviceQuery<Row & Pick<RowPlace, '__id'>>
}

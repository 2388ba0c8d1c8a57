import { type RawBuilder, sql } from 'kysely'
import { withQueryOptions } from '../../database/client/connection.ts'
import { queryPage } from '../../database/client/page.ts'
import { matchesFilter } from '../../database/queries/devices/device-filter.ts'
import { statusOf } from '../../database/queries/devices/device-status.ts'
import { columnText } from '../../database/queries/devices/property-paths.ts'
import { handler } from '../../handler.ts'
import { secsBetween, wireTimeOf } from '../../runtime/times.ts'

/** Largest page, in devices, that is read over the connection for look-ups, which all requests share (`database/client/look-ups.ts`). */
const MAX_LOOK_UP = 100

const SORTS = {
  name: { by: sql`coalesce(d.name, d.hostname, '')`, type: 'text' },
  deviceId: { by: sql`d.device_id`, type: 'text' },
  firstSeen: { by: sql`d.first_seen`, type: 'timestamptz' },
  status: { by: sql`d.is_connected`, type: 'boolean' },
  pendingCertificatesCount: { by: sql`d.pending_certificates`, type: 'integer' },
} as const

/** State of the update of a device, from its row `u` of `device_update`. */
const UPDATE = sql<
  (string | null)[]
>`array[u.current_version, u.target_version, u.state, u.failure_count::text, u.error]`
/** Subquery with the same columns, for a page. PostgreSQL evaluates it after sort and limit, so it looks up only the page's rows. */
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

/** Orders that the index `device_by_first_seen` returns, forwards or backwards. A device that reconnects keeps its place in them. */
const FIRST_SEEN_ORDERS: readonly (string | undefined)[] = [undefined, 'firstSeen', '-firstSeen']

/** Lists the devices of a project that match a filter, with chosen properties as columns. */
export const projects_QueryDevices = handler(
  'projects_QueryDevices',
  async ({ db }, { projectId, filter, countTotal, columns = [], ...page }) => {
    const query = (filter ? withQueryOptions(db, { plan: 'by values' }) : db)
      .selectFrom('device as d')
      .where('d.project_id', '=', projectId)
      .where(matchesFilter(filter))
      .select([
        'd.device_id',
        'd.name',
        'd.hostname',
        sql<string>`d.first_seen::text`.as('first_seen'),
        'd.is_connected',
        'd.pending_certificates',
        'd.health',
        sql<string | null>`d.last_connected_at::text`.as('last_connected_at'),
        columnTexts(columns).as('texts'),
      ])
    // Any filter except the filter by status reads the row of each device, so the query of the page also counts the total (`along`). With
    // the filter by status alone, a second query can count the total in an index.
    const { status: _, ...others } = filter ?? {}
    const counting = Object.values(others).some(condition => condition !== undefined) ? 'along' : true
    // Without filter, an index returns the page by first seen. Such a query is fast enough for the shared look-up connection.
    const isLookUp =
      !filter &&
      columns.length === 0 &&
      FIRST_SEEN_ORDERS.includes(page.sort) &&
      (page.limit ?? Infinity) <= MAX_LOOK_UP
    // A whole list needs the rows of all devices. For 20,000 devices a join takes 30 ms, single look-ups take 150 ms.
    const withUpdates =
      page.limit === undefined
        ? query
            .leftJoin('device_update as u', 'u.device_id', 'd.device_id')
            .select([UPDATE.as('update'), sql<string | null>`null`.as('last_seen_at')])
        : query.select([UPDATE_OF_PAGE.as('update'), LAST_SEEN_OF_PAGE.as('last_seen_at')])
    const { rows, ...rest } = await queryPage(
      withUpdates,
      {
        ...page,
        countTotal: countTotal === false ? 'whole' : counting,
        lookUpIn: isLookUp ? db : undefined,
      },
      SORTS,
      sql`d.device_id`,
      'firstSeen',
    )
    const now = new Date()
    return {
      devices: rows.map(row => {
        const [currentVersion, updateTargetVersion, updateState, failures, updateError] = row.update ?? []
        const lastConnectedAt = row.last_connected_at === null ? undefined : wireTimeOf(row.last_connected_at)
        return {
          deviceId: row.device_id,
          name: row.name ?? undefined,
          hostname: row.hostname || undefined,
          firstSeen: wireTimeOf(row.first_seen),
          status: statusOf(row.is_connected, row.health),
          isConnected: row.is_connected,
          pendingCertificatesCount: row.pending_certificates,
          lastConnectedAt,
          lastSeenAt: row.last_seen_at === null ? undefined : wireTimeOf(row.last_seen_at),
          currentConnectionDurationSecs:
            row.is_connected && lastConnectedAt ? secsBetween(new Date(lastConnectedAt), now) : undefined,
          currentVersion: currentVersion ?? undefined,
          updateTargetVersion: updateTargetVersion ?? undefined,
          updateState: updateState ?? undefined,
          updateFailureCount: failures == null ? undefined : Number(failures),
          updateError: updateError ?? undefined,
          properties: columns.length > 0 ? propertiesOf(columns, row.texts ?? []) : undefined,
        }
      }),
      ...rest,
    }
  },
)

/** Texts of the property columns, in the order of `columns`. Null if there are no property columns. */
function columnTexts(columns: readonly string[]): RawBuilder<(string | null)[] | null> {
  if (columns.length === 0) return sql`null::text[]`
  return sql`array[${sql.join(columns.map(columnText))}]`
}

function propertiesOf(columns: readonly string[], texts: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(
    columns.flatMap((path, index) => {
      const text = texts[index]
      return text == null ? [] : [[path, text]]
    }),
  )
}

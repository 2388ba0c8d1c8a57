import { type Actor, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { sql } from 'kysely'
import { queryPage, rowsWithin } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { actorNames } from '../../audit/index.ts'

const DEFAULT_LIMIT = 100
/** Largest total size of the values in a page, in bytes. The remaining fields get the other half of the largest answer. */
const MAX_VALUES_BYTES = MAX_ACTION_BODY_BYTES / 2

const ACTOR_ID = sql<
  string | null
>`coalesce(c.actor ->> 'userId', c.actor ->> 'deviceId', c.actor ->> 'nodeId')`.as('actor_id')

const SORTS = { changedAt: { by: sql`c.changed_at`, type: 'timestamptz' } } as const

/** Lists the changes of a property's value with their actors, newest first. */
export const devices_QueryPropertyHistory = handler(
  'devices_QueryPropertyHistory',
  async ({ db }, { deviceId, name, limit = DEFAULT_LIMIT, cursor, sort }) => {
    const changes = db
      .selectFrom('device_property_change as c')
      .where('c.device_id', '=', deviceId)
      .where('c.name', '=', name)
    const page = { limit, cursor, sort, countTotal: false }
    const sizes = changes.select(sql<number>`coalesce(octet_length(c.value::text), 0)`.as('bytes'))
    const { rows: measured } = await queryPage(sizes, page, SORTS, sql`c.version`, '-changedAt')
    // Shortens the page when its values would not fit into one answer. The next page begins with the first change that was left
    // out.
    page.limit = rowsWithin(MAX_VALUES_BYTES, measured)
    const columns = changes.select(['c.version', 'c.value', 'c.actor', 'c.changed_at', ACTOR_ID])
    const { rows, ...rest } = await queryPage(columns, page, SORTS, sql`c.version`, '-changedAt')
    const names = await actorNames(
      db,
      rows.flatMap(row => row.actor_id ?? []),
    )
    return {
      changes: rows.map(row => ({
        version: row.version,
        value: row.value ?? undefined,
        isRemoved: row.value === null,
        actor: row.actor as Actor,
        actorName: names.get(row.actor_id ?? ''),
        changedAt: wireTime(row.changed_at),
      })),
      ...rest,
    }
  },
)

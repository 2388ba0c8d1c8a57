import { type Actor, type BulkReason, MAX_PAGE_SIZE } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { secsBetween, wireTime } from '../../../platform/runtime/times.ts'
import type { Change } from '../changes/change.ts'

const OUTCOMES = {
  Succeeded: sql<boolean>`i.outcome = 'Succeeded'`,
  Refused: sql<boolean>`i.outcome in ('Skipped', 'Failed')`,
  Open: sql<boolean>`i.outcome is null`,
}

/**
 * Lists the devices or certificates of a bulk action with their results, and whether each device is connected at present. The order is
 * the one in which the bulk action took them when it started.
 */
export const devices_QueryBulkActionItems = handler(
  'devices_QueryBulkActionItems',
  async ({ db }, { projectId, bulkActionId, outcome, limit = MAX_PAGE_SIZE, cursor }) => {
    const action = await db
      .selectFrom('bulk_action')
      .where('bulk_action_id', '=', bulkActionId)
      .where('project_id', '=', projectId)
      .select('bulk_action_id')
      .executeTakeFirst()
    if (!action) throw refusal()
    let query = db
      .selectFrom('bulk_action_item as i')
      .leftJoin('device as d', 'd.device_id', 'i.device_id')
      .leftJoin('user as u', join => join.on(sql<boolean>`u.user_id = i.actor ->> 'userId'`))
      .where('i.bulk_action_id', '=', bulkActionId)
      .select([
        'i.device_id',
        'i.certificate_id',
        sql<string | null>`case when d.device_id is null then i.name else d.name end`.as('name'),
        sql<string | null>`coalesce(nullif(d.hostname, ''), i.hostname)`.as('hostname'),
        'i.token_id',
        'i.remote_address',
        'i.outcome',
        'i.reason',
        'i.actor',
        'i.acted_at',
        'i.change',
        'i.row_number',
        sql<string | null>`coalesce(u.display_name, u.email)`.as('actor_name'),
        sql<boolean>`d.device_id is not null`.as('exists'),
        sql<boolean>`coalesce(d.is_connected, false)`.as('is_connected'),
        'd.last_connected_at',
      ])
    if (outcome) query = query.where(OUTCOMES[outcome])
    const { rows, ...rest } = await queryPage(
      query,
      { limit, cursor },
      { position: { by: sql`i.position`, type: 'integer' } },
      sql`i.device_id`,
      'position',
    )
    const now = new Date()
    return {
      items: rows.map(row => ({
        deviceId: row.device_id as never,
        certificateId: (row.certificate_id ?? undefined) as never,
        name: row.name ?? undefined,
        hostname: row.hostname ?? undefined,
        tokenId: (row.token_id ?? undefined) as never,
        remoteAddress: row.remote_address ?? undefined,
        outcome: (row.outcome ?? undefined) as 'Succeeded' | 'Skipped' | 'Failed' | undefined,
        reason: (row.reason ?? undefined) as BulkReason | undefined,
        actor: (row.actor ?? undefined) as Actor | undefined,
        actorName: row.actor_name ?? undefined,
        actedAt: row.acted_at === null ? undefined : wireTime(row.acted_at),
        changes: (row.change ?? undefined) as Change[] | undefined,
        row: row.row_number ?? undefined,
        exists: row.exists,
        isConnected: row.is_connected,
        currentConnectionDurationSecs:
          row.is_connected && row.last_connected_at ? secsBetween(row.last_connected_at, now) : undefined,
      })),
      ...rest,
    }
  },
)

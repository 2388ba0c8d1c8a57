import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { actorName } from '../../audit/index.ts'

/** Lists the blocked devices of a project. */
export const projects_QueryBlockedDevices = handler(
  'projects_QueryBlockedDevices',
  async ({ db }, { projectId, filter, ...page }) => {
    const query = db
      .selectFrom('device_block as b')
      .where('b.project_id', '=', projectId)
      .where(
        matchesText(
          filter?.text,
          sql`b.name`,
          sql`b.hostname`,
          sql`b.device_id`,
          sql`b.fingerprint_id`,
          sql`b.block_id`,
        ),
      )
      .select([
        'b.block_id',
        'b.device_id',
        'b.fingerprint_id',
        'b.name',
        'b.hostname',
        'b.blocked_at',
        'b.actor',
        actorName(sql`b.actor ->> 'userId'`),
        sql<number>`(select count(*)::int from device_block_certificate c where c.block_id = b.block_id)`.as(
          'certificates',
        ),
      ])
    const sorts = {
      blockedAt: { by: sql`b.blocked_at`, type: 'timestamptz' },
      name: { by: sql`coalesce(b.name, b.hostname, '')`, type: 'text' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`b.block_id`, '-blockedAt')
    return {
      blocks: rows.map(row => ({
        blockId: row.block_id,
        deviceId: row.device_id,
        fingerprintId: row.fingerprint_id,
        name: row.name ?? undefined,
        hostname: row.hostname || undefined,
        certificateCount: row.certificates,
        blockedAt: wireTime(row.blocked_at),
        actor: row.actor as never,
        actorName: row.actor_name ?? undefined,
      })),
      ...rest,
    }
  },
)

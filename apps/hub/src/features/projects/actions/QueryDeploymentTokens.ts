import { sql } from 'kysely'
import { refusalOf } from '../../../link/gateway/refusals.ts'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { tokenFlagsOf } from '../token-flags.ts'
import { budgetUsed, tokenLimitsOf } from '../token-limits.ts'

/**
 * Lists the deployment tokens of a project without their secrets. `limits` has only the limits that are set on the token.
 * `budget` has the effective limits, including defaults of the instance.
 */
export const projects_QueryDeploymentTokens = handler(
  'projects_QueryDeploymentTokens',
  async ({ db, services }, { projectId, filter, ...page }) => {
    const { 'token-new-devices': atOnce, 'token-new-devices-per-hour': perHour } = services.limits
    const perHourOf = sql<number>`coalesce(t.new_devices_per_hour, ${perHour}::int)`
    const query = db
      .selectFrom('deployment_token as t')
      .leftJoin('device as d', 'd.device_id', 't.last_used_device_id')
      .where('t.project_id', '=', projectId)
      .where(matchesText(filter?.text, sql`t.name`, sql`t.token_id`))
      .select([
        't.token_id',
        't.created_at',
        't.name',
        't.auto_accept',
        't.own_certificate',
        't.labels',
        't.expires_at',
        't.device_limit',
        't.new_devices_at_once',
        't.new_devices_per_hour',
        't.enrolled_devices',
        't.refused_devices',
        budgetUsed(perHourOf).as('budget_used'),
        't.last_refusal_at',
        't.last_refusal_reason',
        't.last_refusal_count',
        't.last_used_at',
        't.last_used_address',
        'd.device_id as last_device_id',
        'd.name as last_device_name',
        'd.hostname as last_device_hostname',
      ])
    const sorts = {
      createdAt: { by: sql`t.created_at`, type: 'timestamptz' },
      name: { by: sql`coalesce(t.name, '')`, type: 'text' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`t.token_id`, '-createdAt')
    const budgetOf = (row: (typeof rows)[number]) => {
      const holds = row.new_devices_at_once ?? atOnce
      const left = Math.max(0, Math.floor(holds - row.budget_used))
      return { atOnce: holds, perHour: row.new_devices_per_hour ?? perHour, left }
    }
    return {
      tokens: rows.map(row => ({
        tokenId: row.token_id,
        createdAt: wireTime(row.created_at),
        name: row.name ?? undefined,
        flags: tokenFlagsOf(row),
        limits: tokenLimitsOf(row),
        budget: budgetOf(row),
        enrolledDevices: row.enrolled_devices,
        refusedDevices: row.refused_devices,
        lastRefusal: refusalOf(row),
        lastUse: row.last_used_at
          ? {
              at: wireTime(row.last_used_at),
              deviceId: row.last_device_id ?? undefined,
              deviceName: row.last_device_name ?? undefined,
              hostname: row.last_device_hostname || undefined,
              address: row.last_used_address!,
            }
          : undefined,
        labels: (row.labels as Record<string, string> | null) ?? undefined,
      })),
      ...rest,
    }
  },
)

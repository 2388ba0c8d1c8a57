import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { wireTime } from '../../platform/runtime/times.ts'

/** Limits of a deployment token, as the input of `projects_SetDeploymentTokenLimits` has them. */
type TokenLimits = ParsedInput<'projects_SetDeploymentTokenLimits'>['limits']

/** Columns of `deployment_token` that hold the limits of a token. */
export type TokenLimitColumns = {
  expires_at: Date | null
  device_limit: number | null
  new_devices_at_once: number | null
  new_devices_per_hour: number | null
}

/** Converts limits of a token to columns. An absent limit becomes null: no expiry, or the default of the instance for a number. */
export function tokenLimitColumns(limits: TokenLimits): TokenLimitColumns {
  return {
    expires_at: limits.expiresAt === undefined ? null : new Date(limits.expiresAt),
    device_limit: limits.deviceLimit ?? null,
    new_devices_at_once: limits.newDevicesAtOnce ?? null,
    new_devices_per_hour: limits.newDevicesPerHour ?? null,
  }
}

/** Converts the columns to limits in the form of the API. */
export function tokenLimitsOf(row: TokenLimitColumns): TokenLimits {
  return {
    expiresAt: row.expires_at ? wireTime(row.expires_at) : undefined,
    deviceLimit: row.device_limit ?? undefined,
    newDevicesAtOnce: row.new_devices_at_once ?? undefined,
    newDevicesPerHour: row.new_devices_per_hour ?? undefined,
  }
}

/**
 * SQL for the number of new devices that count against the budget of the token `t` at this moment. The number falls by
 * `perHour` an hour, the refill rate of the token. If the clock of the database was set back to before `budget_at`, the number
 * stays.
 */
export function budgetUsed(perHour: RawBuilder<number>): RawBuilder<number> {
  return sql<number>`greatest(0, t.budget_used
    - greatest(0, extract(epoch from clock_timestamp() - t.budget_at)::float8) * ${perHour} / 3600)`
}

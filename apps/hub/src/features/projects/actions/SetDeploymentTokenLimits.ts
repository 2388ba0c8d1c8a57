import { handler } from '../../../platform/pipeline/handler.ts'
import { tokenLimitColumns, tokenLimitsOf } from '../token-limits.ts'

/** Replaces all limits of a deployment token. A missing number gets the default of the instance. Without `expiresAt` there is no expiry. */
export const projects_SetDeploymentTokenLimits = handler(
  'projects_SetDeploymentTokenLimits',
  async ({ tx, events, scope, changed }, { tokenId, limits }) => {
    const before = await tx
      .selectFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .select(['expires_at', 'device_limit', 'new_devices_at_once', 'new_devices_per_hour'])
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('deployment_token')
      // Restarts the count of refusals, which belongs to the replaced limits.
      .set({ ...tokenLimitColumns(limits), refused_devices: 0 })
      .where('token_id', '=', tokenId)
      .execute()
    await events.emit(
      'projects_DeploymentTokenLimitsChanged',
      { projectId: scope.projectId!, tokenId, limits },
      { old: { limits: tokenLimitsOf(before) } },
    )
    changed('tokens')
    return {}
  },
)

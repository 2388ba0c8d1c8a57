import { tokenLimitColumns } from '../../database/queries/projects/token-limits.ts'
import { handler } from '../../handler.ts'

/** Replaces all limits of a deployment token. A missing limit becomes the default of the instance. */
export const projects_SetDeploymentTokenLimits = handler(
  'projects_SetDeploymentTokenLimits',
  async ({ tx, events, scope, changed }, { tokenId, limits }) => {
    await tx
      .updateTable('deployment_token')
      // Restarts the count of refusals, which belongs to the replaced limits.
      .set({ ...tokenLimitColumns(limits), refused_devices: 0 })
      .where('token_id', '=', tokenId)
      .returning('token_id')
      .executeTakeFirstOrThrow()
    await events.emit('projects_DeploymentTokenLimitsChanged', {
      projectId: scope.projectId!,
      tokenId,
      limits,
    })
    changed('tokens')
    return {}
  },
)

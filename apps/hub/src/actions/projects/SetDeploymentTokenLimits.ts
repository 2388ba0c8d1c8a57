import { tokenLimitColumns } from '../../database/queries/projects/token-limits.ts'
import { handler } from '../../handler.ts'

export const projects_SetDeploymentTokenLimits = handler(
  'projects_SetDeploymentTokenLimits',
  async ({ tx, events, scope, changed }, { tokenId, limits }) => {
    await tx
      .updateTable('deployment_token')
      // The count of refusals belongs to the limits that caused them.
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

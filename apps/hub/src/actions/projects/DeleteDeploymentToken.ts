import { handler } from '../../handler.ts'

/** Deletes a deployment token. After the commit, connections made with it are closed. Its devices stay. */
export const projects_DeleteDeploymentToken = handler(
  'projects_DeleteDeploymentToken',
  async ({ tx, events, scope, changed, afterCommit, services }, { tokenId }) => {
    await tx
      .deleteFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .returning('token_id')
      .executeTakeFirstOrThrow()
    await events.emit('projects_DeploymentTokenDeleted', { projectId: scope.projectId!, tokenId })
    afterCommit(() => services.devices.closeWhere({ tokenId }, 'the deployment token was deleted'))
    changed('tokens')
    return {}
  },
)

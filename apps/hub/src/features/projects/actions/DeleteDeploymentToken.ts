import { handler } from '../../../platform/pipeline/handler.ts'

/** Deletes a deployment token and, after the commit, closes connections made with it. Devices enrolled with the token stay. */
export const projects_DeleteDeploymentToken = handler(
  'projects_DeleteDeploymentToken',
  async ({ tx, events, scope, changed, afterCommit, services }, { tokenId }) => {
    const { name } = await tx
      .deleteFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await events.emit(
      'projects_DeploymentTokenDeleted',
      { projectId: scope.projectId!, tokenId },
      { old: { name: name ?? undefined } },
    )
    afterCommit(() => services.devices.endRight({ tokenId }, 'the deployment token was deleted'))
    changed('tokens')
    return {}
  },
)

import { handler } from '../../handler.ts'

/** Replaces the flags of a deployment token. A missing flag is off. */
export const projects_SetDeploymentTokenFlags = handler(
  'projects_SetDeploymentTokenFlags',
  async ({ tx, events, scope, changed }, { tokenId, flags }) => {
    const autoAccept = flags.autoAccept ?? false
    await tx
      .updateTable('deployment_token')
      .set({ auto_accept: autoAccept })
      .where('token_id', '=', tokenId)
      .returning('token_id')
      .executeTakeFirstOrThrow()
    await events.emit('projects_DeploymentTokenFlagsChanged', {
      projectId: scope.projectId!,
      tokenId,
      flags: { autoAccept },
    })
    changed('tokens')
    return {}
  },
)

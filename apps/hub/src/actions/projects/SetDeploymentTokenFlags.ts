import { handler } from '../../handler.ts'

/** Replaces the flags of a deployment token. A missing flag is off. */
export const projects_SetDeploymentTokenFlags = handler(
  'projects_SetDeploymentTokenFlags',
  async ({ tx, events, scope, changed }, { tokenId, flags }) => {
    const autoAccept = flags.autoAccept ?? false
    const before = await tx
      .selectFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .select('auto_accept')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('deployment_token')
      .set({ auto_accept: autoAccept })
      .where('token_id', '=', tokenId)
      .execute()
    await events.emit(
      'projects_DeploymentTokenFlagsChanged',
      { projectId: scope.projectId!, tokenId, flags: { autoAccept } },
      { old: { flags: { autoAccept: before.auto_accept } } },
    )
    changed('tokens')
    return {}
  },
)

import { handler } from '../../../platform/pipeline/handler.ts'
import { tokenFlagsOf } from '../token-flags.ts'

/**
 * Replaces the flags of a deployment token. A missing `autoAccept` is off. A missing `ownCertificate` stays as it is: older clients do not
 * know it, and switching automatic acceptance must not take a protection away.
 */
export const projects_SetDeploymentTokenFlags = handler(
  'projects_SetDeploymentTokenFlags',
  async ({ tx, events, scope, changed }, { tokenId, flags }) => {
    const before = await tx
      .selectFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .select(['auto_accept', 'own_certificate'])
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    const after = {
      auto_accept: flags.autoAccept ?? false,
      own_certificate: flags.ownCertificate ?? before.own_certificate,
    }
    await tx.updateTable('deployment_token').set(after).where('token_id', '=', tokenId).execute()
    await events.emit(
      'projects_DeploymentTokenFlagsChanged',
      { projectId: scope.projectId!, tokenId, flags: tokenFlagsOf(after) },
      { old: { flags: tokenFlagsOf(before) } },
    )
    changed('tokens')
    return {}
  },
)

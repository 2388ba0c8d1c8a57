import { newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '../../../platform/credentials/secrets.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { tokenFlagsOf } from '../token-flags.ts'
import { tokenLimitColumns } from '../token-limits.ts'

/** Creates a deployment token. No later answer contains the token's secret, because the database stores only its hash. */
export const projects_CreateDeploymentToken = handler(
  'projects_CreateDeploymentToken',
  async ({ tx, events, changed, services, scope }, { projectId, name, flags, limits, labels }) => {
    // Locks the project, so that concurrent calls cannot together exceed the limit of tokens.
    await tx
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select('project_id')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    const { count } = await tx
      .selectFrom('deployment_token')
      .where('project_id', '=', projectId)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    const subject = { projectId, ...(scope.organizationId && { organizationId: scope.organizationId }) }
    const remedy = 'Delete a token that is not used any more.'
    requireRoom(services, 'project-deployment-tokens', subject, count, remedy)
    const token = newId('deployment')
    const tokenId = publicIdOf(token)
    const autoAccept = flags?.autoAccept ?? false
    const ownCertificate = flags?.ownCertificate ?? false
    await tx
      .insertInto('deployment_token')
      .values({
        token_id: tokenId,
        token_hash: hashSecret(token),
        project_id: projectId,
        name,
        auto_accept: autoAccept,
        own_certificate: ownCertificate,
        ...(limits && tokenLimitColumns(limits)),
        ...(labels && Object.keys(labels).length > 0 && { labels: JSON.stringify(labels) }),
      })
      .execute()
    await events.emit('projects_DeploymentTokenCreated', {
      projectId,
      tokenId,
      flags: tokenFlagsOf({ auto_accept: autoAccept, own_certificate: ownCertificate }),
    })
    changed('tokens')
    return { tokenId, token }
  },
)

import { newId, publicIdOf } from '@muster/actions'
import { handler } from '../../handler.ts'
import { hashSecret } from '../../secrets.ts'

export const projects_CreateDeploymentToken = handler(
  'projects_CreateDeploymentToken',
  async ({ tx, events, changed }, { projectId, name, flags }) => {
    const token = newId('deployment')
    const tokenId = publicIdOf(token)
    const autoAccept = flags?.autoAccept ?? false
    await tx
      .insertInto('deployment_token')
      .values({
        token_id: tokenId,
        token_hash: hashSecret(token),
        project_id: projectId,
        name,
        auto_accept: autoAccept,
      })
      .execute()
    await events.emit('projects_DeploymentTokenCreated', { projectId, tokenId, flags: { autoAccept } })
    changed('tokens')
    return { tokenId, token }
  },
)

import { newId, publicIdOf } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { createOrganization } from '../organizations/index.ts'

/** Creates an organization for a person, with one project and one deployment token that accepts devices automatically. */
export async function createFirstProject(
  { tx, events }: Pick<CommandTransaction, 'tx' | 'events'>,
  { userId, organization, project }: { userId: string; organization: string; project: string },
): Promise<{ deploymentToken: string }> {
  const organizationId = await createOrganization({ tx, events }, organization, [userId])
  const projectId = newId('p')
  const deploymentToken = newId('deployment')
  const tokenId = publicIdOf(deploymentToken)
  await tx
    .insertInto('project')
    .values({
      project_id: projectId,
      organization_id: organizationId,
      name: project,
      name_key: nameKey(project),
      certificate_renewal: true,
    })
    .execute()
  await tx
    .insertInto('deployment_token')
    .values({
      token_id: tokenId,
      token_hash: hashSecret(deploymentToken),
      project_id: projectId,
      name: 'First token',
      auto_accept: true,
    })
    .execute()
  const scope = { organizationId }
  await events.emit('projects_Created', { projectId }, { scope })
  const flags = { autoAccept: true }
  await events.emit('projects_DeploymentTokenCreated', { projectId, tokenId, flags }, { scope })
  return { deploymentToken }
}

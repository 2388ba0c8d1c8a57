import { newId, publicIdOf } from '@muster/actions'
import { recordEvent } from '../../platform/audit/events.ts'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { createOrganization } from '../organizations/index.ts'

/** Creates an organization for a person, with one project and one deployment token that accepts devices automatically. */
export async function createFirstProject(
  tx: Tx,
  { userId, organization, project }: { userId: string; organization: string; project: string },
): Promise<{ deploymentToken: string }> {
  const eventsIn = (scope: { organizationId?: string }): CommandTransaction['events'] => ({
    emit: (event, data) => recordEvent(tx, { caller: SYSTEM, scope }, event, data),
  })
  const organizationId = await createOrganization({ tx, events: eventsIn({}) }, organization, [userId])
  const events = eventsIn({ organizationId })
  const projectId = newId('p')
  const deploymentToken = newId('deployment')
  const tokenId = publicIdOf(deploymentToken)
  await tx
    .insertInto('project')
    .values({ project_id: projectId, organization_id: organizationId, name: project })
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
  await events.emit('projects_Created', { projectId })
  await events.emit('projects_DeploymentTokenCreated', { projectId, tokenId, flags: { autoAccept: true } })
  return { deploymentToken }
}

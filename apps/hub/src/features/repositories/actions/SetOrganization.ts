import { handler } from '../../../platform/pipeline/handler.ts'
import { requireRoomForRepository } from '../repositories.ts'
import { unlinkOtherOrganizations } from '../repository-links.ts'

/**
 * Moves a repository to another organization. A private repository loses its links to projects outside of the new organization.
 */
export const repositories_SetOrganization = handler(
  'repositories_SetOrganization',
  async (context, { repositoryId, organizationId }) => {
    const { tx, events, changed, services } = context
    const before = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select(['organization_id', 'visibility'])
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    if (before.organization_id === organizationId) return {}
    await requireRoomForRepository(tx, services, organizationId)
    await tx
      .updateTable('repository')
      .set({ organization_id: organizationId })
      .where('repository_id', '=', repositoryId)
      .execute()
    await events.emit('repositories_OrganizationChanged', {
      repositoryId,
      previousOrganizationId: before.organization_id,
      newOrganizationId: organizationId,
    })
    if (before.visibility === 'Private') await unlinkOtherOrganizations(context, repositoryId, organizationId)
    for (const concerned of [before.organization_id, organizationId])
      changed('repositories', { organizationId: concerned, repositoryId })
    return {}
  },
)

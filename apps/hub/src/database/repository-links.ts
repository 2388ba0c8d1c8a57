import type { CommandContext } from '../handler.ts'

/** Ends the links of a repository to projects outside of an organization, and tells the log and both sides. */
export async function unlinkOtherOrganizations(
  { tx, events, changed }: Pick<CommandContext, 'tx' | 'events' | 'changed'>,
  repositoryId: string,
  organizationId: string,
): Promise<void> {
  const ended = await tx
    .deleteFrom('project_repository as l')
    .using('project as p')
    .whereRef('p.project_id', '=', 'l.project_id')
    .where('l.repository_id', '=', repositoryId)
    .where('p.organization_id', '<>', organizationId)
    .returning(['p.project_id', 'p.organization_id'])
    .execute()
  for (const project of ended) {
    await events.emit('projects_RepositoryRemoved', { projectId: project.project_id, repositoryId })
    changed('links', { organizationId: project.organization_id, projectId: project.project_id, repositoryId })
  }
}

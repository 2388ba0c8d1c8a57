import { sql } from 'kysely'
import { mayIn } from '../../platform/access/rights.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import { type Caller, personOf } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

/**
 * Whether a repository is public, and whether the caller may read it as a member of its organization; undefined for an absent repository.
 * Locks the repository until the end of the transaction. Making a repository private or moving it ends links to projects.
 * Without the lock, such a change would miss a link that is being created.
 */
export async function repositoryToLink(
  tx: Tx,
  caller: Caller,
  repositoryId: string,
): Promise<{ isPublic: boolean; isOwn: boolean } | undefined> {
  const row = await tx
    .selectFrom('repository as r')
    .where('r.repository_id', '=', repositoryId)
    .select(['r.visibility', mayIn('read', personOf(caller)?.userId, sql`r.organization_id`).as('isOwn')])
    .forShare('r')
    .executeTakeFirst()
  return row && { isPublic: row.visibility === 'Public', isOwn: row.isOwn }
}

/** Ends the links of a repository to projects of other organizations, with an audit event and a change notice for each. */
export async function unlinkOtherOrganizations(
  { tx, events, changed }: Pick<CommandTransaction, 'tx' | 'events' | 'changed'>,
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

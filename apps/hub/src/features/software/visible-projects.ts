import { sql } from 'kysely'
import { mayIn } from '../../platform/access/rights.ts'
import type { Scope } from '../../platform/access/scope.ts'
import { isAuditedReader } from '../../platform/access/visible.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { type Caller, personOf } from '../../platform/pipeline/caller.ts'

/** Maximum number of projects that `visibleProjects` returns. Callers count the devices of each of them. */
const MAX_PROJECTS = 200

/** A project whose devices may read a repository. */
export type LinkedProject = { projectId: string; organizationId: string; name: string }

/**
 * Projects that are linked to a repository and that the caller can see, the project with the most devices first. `count` is the number of
 * all such projects. The caller sees the projects of their own organizations. An administrator of the instance also sees projects of the
 * repository's organization if that organization gets an audit row of the read.
 */
export async function visibleProjects(
  db: Db,
  caller: Caller,
  scope: Scope,
): Promise<{ projects: LinkedProject[]; count: number }> {
  const isAudited = isAuditedReader(caller, scope)
  const { rows } = await sql<LinkedProject & { count: number }>`
    select p.project_id as "projectId", p.organization_id as "organizationId", p.name, count(*) over () as count
      from project_repository l join project p using (project_id)
     where l.repository_id = ${scope.repositoryId}
       and (${mayIn('view', personOf(caller)?.userId, sql`p.organization_id`)} or ${isAudited} and p.organization_id = ${scope.organizationId})
     order by (select coalesce(sum(c.devices), 0) from project_device_count c where c.project_id = p.project_id) desc,
              p.name, p.project_id
     limit ${MAX_PROJECTS}`.execute(db)
  return { projects: rows.map(({ count: _, ...project }) => project), count: rows[0]?.count ?? 0 }
}

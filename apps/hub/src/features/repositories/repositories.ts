import type { ActionOutput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { rolesWith } from '../../platform/access/rights.ts'
import type { Scope } from '../../platform/access/scope.ts'
import { type Db, select, type Tx } from '../../platform/database/client/connection.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import { requireRoom } from '../../platform/limits/require-room.ts'
import { type Caller, personOf } from '../../platform/pipeline/caller.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { lockMembers } from '../organizations/index.ts'

/** A path as clients write it. Each part is a name or an id; absent parts are not looked up (docs/api.md 4.5). */
type RepositoryPath = {
  repository: string
  package?: string
  tag?: string
  filename?: string
}

/** Ids to which a path resolves; null for a part that is absent from the path or does not exist. */
type FoundPath = {
  repositoryId: string
  packageId: string | null
  versionId: string | null
  assetId: string | null
}

// A path may match several repositories. The match with the lowest rank wins (docs/decisions.md, "Repositories"): 1 slug, 2 id, 3 display
// name of an own repository, 4 former slug of an own repository, 5 former display name of an own repository, 6 former slug of another
// tenant, 7 display name of another tenant, 8 former display name of another tenant. An own repository belongs to an organization whose
// repositories the caller may read as a member or, for a device, is linked to the device's project.
// - A repository with this slug or id hides matches by display name even if the caller may not read it, so that a path means the same
//   repository to every caller.
// - Display names count only in repositories that the caller may read, so that other repositories are not disclosed.
// - No other tenant can divert a caller from an own repository. A slug of another tenant resolves to nothing while an own repository
//   has this text as its display name. A former name of an own repository has priority over all names of other tenants.
const findRepository = (
  name: string,
  userId: string,
  roles: string,
  projectId: string,
  isSystem: string,
): string => `
  with matched as (
    select repository_id, false as is_former, slug = ${name} as is_slug, repository_id = ${name} as is_id
      from repository where slug = ${name} or repository_id = ${name} or display_name = ${name}
    union all
    select repository_id, true, is_slug, false from repository_former_name where name = ${name}
  ), called as (
    select n.*, r.visibility, m.user_id is not null or l.project_id is not null as is_own
      from matched n
      join repository r using (repository_id)
      left join organization_member m on m.organization_id = r.organization_id and m.user_id = ${userId}
        and m.is_admin = any (${roles}::boolean[])
      left join project_repository l on l.repository_id = r.repository_id and l.project_id = ${projectId}
  ), named as (
    select repository_id, is_own, is_former, ${isSystem} or is_own or visibility = 'Public' as is_readable,
           case when is_former and is_own then case when is_slug then 4 else 5 end
                when is_former then case when is_slug then 6 else 8 end
                when is_slug then 1 when is_id then 2 when is_own then 3 else 7 end as rank
      from called
  ), whose as (
    select bool_or(is_own and not is_former) as has_own, bool_or(is_own and is_former) as has_former from named
  ), candidate as (
    select n.* from named n, whose where has_own or not has_former or (is_own and is_former)
  ), found as (
    select min(repository_id) as repository_id
      from candidate
     where is_readable and rank = (select min(rank) from candidate)
    having count(*) = 1 and (min(rank) > 1 or bool_or(is_own) or not (select bool_or(is_own) from candidate))
  )`

const FIND_PATH = `
  ${findRepository('$1', '$2', '$8', '$3', '$4')}
  select r.repository_id as "repositoryId", p.package_id as "packageId", v.version_id as "versionId",
         f.asset_id as "assetId"
    from found r
    left join package p on p.repository_id = r.repository_id and (p.name = $5 or p.package_id = $5)
    left join lateral (
      select t.version_id from package_tag t where t.package_id = p.package_id and t.tag = $6
      union all
      select o.version_id from package_version o where o.package_id = p.package_id and o.version_id = $6
    ) v on true
    left join version_asset f on f.version_id = v.version_id and f.filename = $7`

/**
 * Resolves a path `repository/package/tag/filename`; undefined when the repository does not exist or the caller may not read it.
 * Administrators of the instance get no additional access by path: their reads in other organizations must be audited, which is done
 * only for actions whose input has the id of the resource.
 */
export async function resolvePath(
  db: Db,
  caller: Caller,
  path: RepositoryPath,
): Promise<FoundPath | undefined> {
  const [found] = await select<FoundPath>(db, FIND_PATH, [
    path.repository,
    personOf(caller)?.userId ?? '',
    caller.actor === 'Device' ? caller.projectId : '',
    caller.actor === 'System',
    path.package ?? null,
    path.tag ?? null,
    path.filename ?? null,
    rolesWith('read'),
  ])
  return found
}

/**
 * SQL query for the id of the repository, as `repository_id`, that a device resolves the first part of its path to. `name` and `projectId` are
 * expressions for that part and for the device's project. No row if it resolves to none.
 */
export function repositoryOfDevicePath(name: string, projectId: string): RawBuilder<unknown> {
  return sql.raw(
    `${findRepository(name, "''", "'{}'", projectId, 'false')} select repository_id from found where repository_id is not null`,
  )
}

/** Names of a repository in the fields that 2025 and 2026 clients read (docs/api.md 2.1, 4.5). */
export function repositoryNamesOf(row: { repository_id: string; display_name: string; slug: string | null }) {
  return {
    name: row.display_name,
    displayName: row.display_name,
    slug: row.slug ?? undefined,
    publicName: row.slug ?? row.repository_id,
  }
}

/** Status of a blob in the form of the API. */
export type AssetStatus = ActionOutput<'repositories_GetAssetDetails'>['status']

/**
 * Result of the last check of a blob's stored bytes, in the form of the API (docs/api.md 4.7). The detail may disclose the operator's
 * store, so only readers with a role in the repository's organization get it. Other readers get the status and the time.
 */
export function storageOf(
  row: { storage_status: string; storage_checked_at: Date | null; storage_detail: string | null },
  { rights }: Scope,
) {
  type Status = NonNullable<ActionOutput<'repositories_GetAssetDetails'>['storage']>['status']
  return {
    status: row.storage_status as Status,
    checkedAt: row.storage_checked_at ? wireTime(row.storage_checked_at) : undefined,
    detail: rights?.has('read') ? (row.storage_detail ?? undefined) : undefined,
  }
}

/**
 * Number of files of versions and packages that reference a blob. Takes a connection of the caller and is no look-up: a blob may have
 * hundreds of thousands of files.
 */
export async function countReferences(db: Db, assetId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from version_asset where asset_id = ${assetId})
         + (select count(*) from package_asset where asset_id = ${assetId}) as count`.execute(db)
  return rows[0]!.count
}

/**
 * Throws `LimitReached` when an organization has the maximum number of repositories. Locks the organization until the end of the
 * transaction.
 */
export async function requireRoomForRepository(
  tx: Tx,
  services: { limits: LimitValues },
  organizationId: string,
): Promise<void> {
  await lockMembers(tx, organizationId)
  const { count } = await tx
    .selectFrom('repository')
    .where('organization_id', '=', organizationId)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const remedy = 'Delete a repository that is not used any more.'
  requireRoom(services, 'organization-repositories', { organizationId }, count, remedy)
}

import type { ActionOutput } from '@muster/actions'
import type { Scope } from '../../../access/scope.ts'
import { type Caller, personOf } from '../../../caller.ts'
import type { LimitValues } from '../../../limits/limits.ts'
import { requireRoom } from '../../../limits/require-room.ts'
import { wireTime } from '../../../runtime/times.ts'
import { type Db, select, type Tx } from '../../client/connection.ts'
import { lockMembers } from '../organizations/organization-members.ts'

/** A path as clients write it; what is left out is not looked for. Each part is a name or an id (catalogue 3.14 to 3.16). */
type RepositoryPath = {
  repository: string
  package?: string
  tag?: string
  filename?: string
}

/** What a path leads to; ids of parts that were not asked for or do not exist are null. */
type FoundPath = {
  repositoryId: string
  packageId: string | null
  versionId: string | null
  assetId: string | null
}

// A slug goes before an id, an id before a display name, current names before former ones. A slug or id that the caller may not read
// hides the display names behind it, so that a path means one repository to everybody. Of display names only those that the caller may
// read count, so that they are not disclosed. No other tenant leads a caller away from a repository of their own: its display name
// goes before those of other tenants, a slug that another tenant took of its display name leads nowhere, and a former name of it goes
// before any name of another tenant. A former slug keeps leading to its repository for everybody.
const FIND_PATH = `
  with matched as (
    select repository_id, false as is_former, slug = $1 as is_slug, repository_id = $1 as is_id
      from repository where slug = $1 or repository_id = $1 or display_name = $1
    union all
    select repository_id, true, is_slug, false from repository_former_name where name = $1
  ), called as (
    select n.*, r.visibility, m.user_id is not null or l.project_id is not null as is_own
      from matched n
      join repository r using (repository_id)
      left join organization_member m on m.organization_id = r.organization_id and m.user_id = $2
      left join project_repository l on l.repository_id = r.repository_id and l.project_id = $3
  ), named as (
    select repository_id, is_own, is_former, $4 or is_own or visibility = 'Public' as is_readable,
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
  )
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
 * Finds what `repository/package/tag/filename` leads to, for somebody who may read the repository; nothing when there is no such
 * repository or they may not. Administrators of the instance have no way in here, since their reading is audited by id.
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
  ])
  return found
}

/** What a repository is called, for clients of every age (catalogue 2.1, 4.5). */
export function repositoryNamesOf(row: { repository_id: string; display_name: string; slug: string | null }) {
  return {
    name: row.display_name,
    displayName: row.display_name,
    slug: row.slug ?? undefined,
    publicName: row.slug ?? row.repository_id,
  }
}

export type AssetStatus = ActionOutput<'repositories_GetAssetDetails'>['status']

/**
 * What the last look at the stored bytes of a blob found, as it is told (catalogue 4.7). The detail may name the operator's store, so
 * it is for members; readers of a public repository learn the status.
 */
export function storageOf(
  row: { storage_status: string; storage_checked_at: Date | null; storage_detail: string | null },
  { role }: Scope,
) {
  type Status = NonNullable<ActionOutput<'repositories_GetAssetDetails'>['storage']>['status']
  return {
    status: row.storage_status as Status,
    checkedAt: row.storage_checked_at ? wireTime(row.storage_checked_at) : undefined,
    detail: role === undefined ? undefined : (row.storage_detail ?? undefined),
  }
}

/** How many files of versions and packages are this blob. */
export async function countReferences(db: Db, assetId: string): Promise<number> {
  const [row] = await select<{ count: number }>(
    db,
    `select (select count(*) from version_asset where asset_id = $1)
          + (select count(*) from package_asset where asset_id = $1) as count`,
    [assetId],
  )
  return row!.count
}

/** Throws `LimitReached` when an organization has as many repositories as one may have, and holds it until the transaction ends. */
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

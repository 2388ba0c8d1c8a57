import type { ActionOutput } from '@muster/actions'
import type { Scope } from '../access/scope.ts'
import { type Caller, personOf } from '../caller.ts'
import { wireTime } from '../times.ts'
import { type Db, select } from './connection.ts'

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

// A slug goes before an id, an id before a display name. A slug or id of what the caller may not read hides the display names
// behind it, so that a path means one repository to everybody; of display names those count that the caller may read, so that
// nobody learns what others call theirs. No stranger leads anybody away from a repository of their own: its display name goes
// before those of strangers' public ones, and a slug that a stranger took of it means nothing.
const FIND_PATH = `
  with called as (
    select r.repository_id, r.slug, r.visibility, m.user_id is not null or l.project_id is not null as is_own
      from repository r
      left join organization_member m on m.organization_id = r.organization_id and m.user_id = $2
      left join project_repository l on l.repository_id = r.repository_id and l.project_id = $3
     where r.slug = $1 or r.repository_id = $1 or r.display_name = $1
  ), named as (
    select repository_id, is_own, $4 or is_own or visibility = 'Public' as is_readable,
           case when slug = $1 then 1 when repository_id = $1 then 2 when is_own then 3 else 4 end as rank
      from called
  ), found as (
    select min(repository_id) as repository_id
      from named
     where is_readable and rank = (select min(rank) from named)
    having count(*) = 1 and (min(rank) > 1 or bool_or(is_own) or not (select bool_or(is_own) from named))
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

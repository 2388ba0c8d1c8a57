import { type RawBuilder, sql } from 'kysely'

/** Maximum length, in characters, of the version that the hub stores from an update status (`devices/device-updates.ts`). */
const MAX_WORD = 200

/**
 * Text by which devices report a version `v`: `imageVersion` in its metadata, else its name, else its id. The update scripts use the same
 * order (docs/protocol.md 9).
 */
export const WORD = sql<string>`left(coalesce(
  case when jsonb_typeof(v.metadata -> 'imageVersion') in ('string', 'number') then nullif(v.metadata ->> 'imageVersion', '') end,
  v.name, v.version_id), ${MAX_WORD}::integer)`

/** Name of a version `v` in lists. */
export const VERSION_NAME = sql<string>`coalesce(v.name, ${WORD})`

/** Parts of a device's update path `repository/package/tag`, from its row `u` of `device_update`. Null if the text has another form. */
const PATH_PARTS = sql`
  case when split_part(u.path, '/', 3) <> '' then split_part(u.path, '/', 1) end as repository,
  case when split_part(u.path, '/', 3) <> '' then split_part(u.path, '/', 2) end as package,
  nullif(split_part(u.path, '/', 3), '') as tag`

/**
 * Condition that the last update in the row `u` of `device_update` failed (docs/protocol.md 4.4). PostgreSQL uses the partial index
 * `device_update_failed` only if the condition repeats the one of the index literally.
 */
export const HAS_FAILED = sql<boolean>`((u.state = 'failed' or u.failure_count > 0) and u.state is distinct from 'completed')`

/** State of a device's update, from its row `u` of `device_update`. A device without such a row counts as running. */
export const DOING = sql<'running' | 'updating' | 'failed'>`
  case when ${HAS_FAILED} then 'failed'
       when lower(u.state) in ('installing', 'rebooting', 'committing') then 'updating' else 'running' end`

/** Columns of a row `u` of `device_update` that `matchedSoftware` needs. */
export const REPORT = sql`
  u.path is not null as has_path, ${PATH_PARTS}, u.current_version as word,
  case when ${DOING} <> 'running' then u.target_version end as target, ${DOING} as doing`

/**
 * Maps each name that a device may use for a repository in its update path (repository/package/tag) to a repository that is linked to its
 * project. A slug takes precedence over an id, then a display name, then a former name. If several repositories have the same name at the
 * same precedence, the name is ambiguous and maps to none.
 */
function repositoriesByName(projectIds: readonly string[]): RawBuilder<unknown> {
  return sql`
    select project_id, name, min(repository_id) as repository_id
      from (select l.project_id, n.name, l.repository_id,
                   rank() over (partition by l.project_id, n.name order by n.rank) as place
              from project_repository l
              join repository r using (repository_id)
             cross join lateral (
               select r.slug as name, 1 as rank where r.slug is not null
               union all select r.repository_id, 2
               union all select r.display_name, 3
               union all select f.name, case when f.is_slug then 4 else 5 end
                           from repository_former_name f where f.repository_id = r.repository_id) n
             where l.project_id = any (${projectIds}::text[])) named
     where place = 1 group by project_id, name having count(distinct repository_id) = 1`
}

/**
 * Common table expressions that find the package and the versions that devices report in their update status. `reports` is a query with
 * `project_id` and the columns of `REPORT`. The last expression, `matched`, has all columns of `reports` and `package_id`, `version_id`
 * and `aim_id`. The package is found by the path. Without a path, it is the only linked package that has the reported version.
 * `version_id` is the version that the device runs. `aim_id` is another version that it installs or failed to install. If versions have
 * the same text, the newest one is meant.
 */
export function matchedSoftware(
  projectIds: readonly string[],
  reports: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    reports as materialized (${reports}),
    called as (${repositoriesByName(projectIds)}),
    linked as materialized (
      select l.project_id, k.package_id from project_repository l join package k using (repository_id)
       where l.project_id = any (${projectIds}::text[])
    ),
    versions as materialized (
      select distinct on (package_id, word) package_id, word, version_id
        from (select v.package_id, ${WORD} as word, v.version_id, v.created_at from package_version v
               where v.package_id in (select package_id from linked)) v
       order by package_id, word, created_at desc, version_id desc
    ),
    written as (select distinct project_id, repository, package from reports where repository is not null),
    by_path as (
      select w.*, k.package_id
        from written w join called c on c.project_id = w.project_id and c.name = w.repository
        join package k on k.repository_id = c.repository_id and k.name = w.package
      union all
      select w.*, k.package_id
        from written w join called c on c.project_id = w.project_id and c.name = w.repository
        join package k on k.repository_id = c.repository_id and k.package_id = w.package
    ),
    by_version as (
      select w.project_id, w.word, min(v.package_id) as package_id
        from (select distinct project_id, word from reports where not has_path and word is not null) w
        join versions v using (word)
        join linked l on l.project_id = w.project_id and l.package_id = v.package_id
       group by w.project_id, w.word having count(*) = 1
    ),
    packaged as (
      select r.*, coalesce(p.package_id, o.package_id) as package_id
        from reports r
        left join by_path p
          on p.project_id = r.project_id and p.repository = r.repository and p.package = r.package
        left join by_version o on not r.has_path and o.project_id = r.project_id and o.word = r.word
    ),
    matched as (
      select r.*, v.version_id, case when a.version_id is distinct from v.version_id then a.version_id end as aim_id
        from packaged r
        left join versions v on v.package_id = r.package_id and v.word = r.word
        left join versions a on a.package_id = r.package_id and a.word = r.target
    )`
}

/** Packages with the names that devices of a project may write in a path, as rows of repository, package and id. */
export function packagesByName(projectId: string): RawBuilder<unknown> {
  return sql`
    select c.name as repository, n.name as package, k.package_id
      from (${repositoriesByName([projectId])}) c join package k using (repository_id)
     cross join lateral (values (k.name), (k.package_id)) n (name)`
}

/** Texts of versions that exactly one package of the linked repositories of a project has, as rows of text and package id. */
export function versionsOfOnePackage(projectId: string): RawBuilder<unknown> {
  return sql`
    select word, min(package_id) as package_id
      from (select ${WORD} as word, v.package_id from project_repository l
              join package k using (repository_id) join package_version v using (package_id)
             where l.project_id = ${projectId}) v
     group by word having count(distinct package_id) = 1`
}

import { type RawBuilder, sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { VERSION_NAME, WORD } from './reported-software.ts'

/** Maximum number of tags that a list shows for a version. */
const MAX_LISTED_TAGS = 20
/** Maximum number of tags on the page of a version. */
const MAX_TAGS = 50
/** Maximum number of moves of tags on the page of a version. */
const MAX_MOVES = 20
/** Age, in days, up to which moves of tags are shown on the page of a version. */
const MOVES_DAYS = 14
/** Tag that most devices of a fleet follow by convention (docs/releasing.md). */
const STABLE = 'stable'

type NamedVersion = { versionId: string; name: string }

/** The newest version of a package with its tags that are not locked, and the version with the tag `stable`. */
export type LatestVersion = {
  packageId: string
  latest: NamedVersion & { createdAt: Date; tags: string[] }
  stable: NamedVersion | undefined
}

/** Finds the newest version of each given package. The keys of the map are package ids. Packages without versions have no entry. */
export async function latestVersions(
  db: Db,
  packageIds: readonly string[],
): Promise<Map<string, LatestVersion>> {
  const { rows } = await sql<{
    package_id: string
    version_id: string
    name: string
    created_at: Date
    tags: string[]
    stable_id: string | null
    stable_name: string | null
  }>`
    select k.package_id, v.version_id, ${VERSION_NAME} as name, v.created_at,
           array(select t.tag from package_tag t where t.version_id = v.version_id and not t.locked
                  order by t.tag limit ${MAX_LISTED_TAGS}) as tags,
           s.version_id as stable_id, s.name as stable_name
      from unnest(${packageIds}::text[]) k (package_id)
     cross join lateral (
       select v.version_id, v.name, v.metadata, v.created_at from package_version v where v.package_id = k.package_id
        order by v.created_at desc, v.version_id desc limit 1) v
      left join lateral (
        select v.version_id, ${VERSION_NAME} as name from package_tag t join package_version v using (version_id)
         where t.package_id = k.package_id and t.tag = ${STABLE}) s on true`.execute(db)
  return new Map(
    rows.map(row => [
      row.package_id,
      {
        packageId: row.package_id,
        latest: { versionId: row.version_id, name: row.name, createdAt: row.created_at, tags: row.tags },
        stable: row.stable_id === null ? undefined : { versionId: row.stable_id, name: row.stable_name! },
      },
    ]),
  )
}

/** Names, creation times and unlocked tags of the given versions. The keys of the map are version ids. */
export async function versionsById(
  db: Db,
  versionIds: readonly string[],
): Promise<Map<string, NamedVersion & { createdAt: Date; tags: string[] }>> {
  const { rows } = await sql<NamedVersion & { createdAt: Date; tags: string[] }>`
    select v.version_id as "versionId", ${VERSION_NAME} as name, v.created_at as "createdAt",
           array(select t.tag from package_tag t where t.version_id = v.version_id and not t.locked
                  order by t.tag limit ${MAX_LISTED_TAGS}) as tags
      from package_version v where v.version_id = any (${versionIds}::text[])`.execute(db)
  return new Map(rows.map(row => [row.versionId, row]))
}

/** Text by which devices report a version, and the versions of its package that were created right after and right before it. */
export type ReleaseNeighbours = {
  reportedAs: string
  newer: NamedVersion | undefined
  before: NamedVersion | undefined
}

/** Finds the neighbours of a version among the versions of its package, by time of creation. */
export async function neighboursOf(db: Db, versionId: string): Promise<ReleaseNeighbours> {
  const neighbour = (comparison: RawBuilder<unknown>, order: RawBuilder<unknown>) =>
    sql<NamedVersion | null>`(
      select json_build_object('versionId', v.version_id, 'name', ${VERSION_NAME}) from package_version v
       where v.package_id = o.package_id and (v.created_at, v.version_id) ${comparison} (o.created_at, o.version_id)
       order by v.created_at ${order}, v.version_id ${order} limit 1)::jsonb`
  const { rows } = await sql<{ word: string; newer: NamedVersion | null; before: NamedVersion | null }>`
    select (select ${WORD} from package_version v where v.version_id = o.version_id) as word,
           ${neighbour(sql`>`, sql`asc`)} as newer, ${neighbour(sql`<`, sql`desc`)} as before
      from package_version o where o.version_id = ${versionId}`.execute(db)
  // The version was deleted after the permission check.
  if (!rows[0]) throw refusal()
  const { word, newer, before } = rows[0]
  return { reportedAs: word, newer: newer ?? undefined, before: before ?? undefined }
}

/** A tag with its version. `since` is the time at which the version got the tag; undefined if the history of tags does not have it. */
export type ReleaseTag = {
  tag: string
  locked: boolean
  version: NamedVersion
  since: Date | undefined
  /** The version that had the tag before, if any. `path` is its locked tag or else its id, for use in paths. */
  before: (NamedVersion & { path: string }) | undefined
}

/** Up to `MAX_TAGS` tags of a package: all tags of a version, then the unlocked tags of its other versions. */
export async function releaseTags(db: Db, packageId: string, versionId: string): Promise<ReleaseTag[]> {
  const { rows } = await sql<{
    tag: string
    locked: boolean
    version_id: string
    name: string
    since: Date | null
    before_id: string | null
    before_name: string | null
    before_path: string | null
  }>`
    select t.tag, t.locked, t.version_id, ${VERSION_NAME} as name, s.since, w.version_id as before_id, w.name as before_name,
           coalesce((select min(l.tag) from package_tag l where l.version_id = w.version_id and l.locked), w.version_id) as before_path
      from (select * from package_tag t where t.package_id = ${packageId} and (not t.locked or t.version_id = ${versionId})
             order by t.version_id = ${versionId} desc, t.tag limit ${MAX_TAGS}) t
      join package_version v using (version_id)
      left join lateral (
        select b.version_id, b.changed_at from package_tag_change b
         where b.package_id = ${packageId} and b.tag = t.tag and b.version_id is distinct from t.version_id
         order by b.changed_at desc limit 1) b on true
      left join lateral (
        select min(c.changed_at) as since from package_tag_change c
         where c.package_id = ${packageId} and c.tag = t.tag and c.version_id = t.version_id
           and c.changed_at > coalesce(b.changed_at, '-infinity')) s on true
      left join lateral (
        select v.version_id, ${VERSION_NAME} as name from package_version v where v.version_id = b.version_id) w on true
     order by t.version_id = ${versionId} desc, t.tag`.execute(db)
  return rows.map(row => ({
    tag: row.tag,
    locked: row.locked,
    version: { versionId: row.version_id, name: row.name },
    since: row.since ?? undefined,
    before:
      row.before_id === null
        ? undefined
        : { versionId: row.before_id, name: row.before_name!, path: row.before_path! },
  }))
}

/** Moves of unlocked tags to a version or away from it in the last 14 days, newest first. */
export async function tagMoves(
  db: Db,
  packageId: string,
  versionId: string,
): Promise<{ tag: string; at: Date; isHere: boolean }[]> {
  const { rows } = await sql<{ tag: string; at: Date; is_here: boolean }>`
    select c.tag, c.changed_at as at, c.version_id is not distinct from ${versionId} as is_here
      from package_tag_change c
      left join lateral (
        select b.version_id from package_tag_change b
         where b.package_id = c.package_id and b.tag = c.tag and b.changed_at < c.changed_at
         order by b.changed_at desc limit 1) b on true
     where c.package_id = ${packageId} and not c.locked and c.changed_at > now() - make_interval(days => ${MOVES_DAYS})
       and c.version_id is distinct from b.version_id and ${versionId} in (c.version_id, b.version_id)
     order by c.changed_at desc limit ${MAX_MOVES}`.execute(db)
  return rows.map(row => ({ tag: row.tag, at: row.at, isHere: row.is_here }))
}

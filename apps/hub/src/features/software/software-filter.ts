import type { ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { DOING, packagesByName, versionsOfOnePackage, WORD } from './reported-software.ts'
import { otherDevices } from './software-counts.ts'

type Filter = NonNullable<ParsedInput<'projects_QueryDevices'>['filter']>
type Condition = NonNullable<Filter['software']>
type Relation = Extract<Condition, { versionId: unknown }>['is']

const DOES = { stays: 'running', leaves: 'updating', stuck: 'failed' } as const

/**
 * Condition on the software that a device of a project reports, by the same rules as `matchedSoftware`. The surrounding query must use the
 * alias `d` for `device`.
 */
export function matchesSoftware(condition: Condition, projectId: string): RawBuilder<boolean> {
  if ('versionId' in condition) return matchesVersion(condition.versionId, condition.is, projectId)
  if ('followsTag' in condition)
    return hasUpdate(
      sql`split_part(u.path, '/', 3) = ${condition.followsTag}
        and ${isNamed(projectId, sql`= ${condition.packageId}`)}`,
    )
  const { packageId, is } = condition
  const does = is ? sql`and ${DOING} = ${DOES[is]}` : sql``
  if ('versions' in condition && condition.versions === 'other')
    return hasUpdate(sql`u.device_id in (${otherDevices(projectId, packageId)}) ${does}`)
  const reports = 'reports' in condition ? sql`= ${condition.reports}` : sql`is not null`
  const inPackage = packageId
    ? isOf(projectId, sql`= ${packageId}`)
    : sql<boolean>`not ${isOf(projectId, sql`is not null`)}`
  return hasUpdate(sql`u.current_version ${reports} and ${inPackage} ${does}`)
}

function matchesVersion(versionId: string, is: Relation, projectId: string): RawBuilder<boolean> {
  const packageId = sql`(select package_id from package_version where version_id = ${versionId})`
  // Text of the version. Null if a newer version of its package has the same text, because reports then count for the newer version.
  const word = sql`(
    select w.word from (select ${WORD} as word, v.version_id, v.created_at from package_version v
                         where v.package_id = ${packageId}) w
     group by w.word having (array_agg(w.version_id order by w.created_at desc, w.version_id desc))[1] = ${versionId})`
  const inPackage = isOf(projectId, sql`= ${packageId}`)
  const runs = sql`coalesce(u.current_version = ${word}, false)`
  const aims = sql`coalesce(u.target_version = ${word} and not ${runs} and ${DOING} <> 'running', false)`
  switch (is) {
    case 'runs':
      return hasUpdate(sql`${runs} and ${inPackage}`)
    case 'stays':
      return hasUpdate(sql`${runs} and ${inPackage} and ${DOING} = 'running'`)
    case 'leaves':
    case 'stuck':
      return hasUpdate(sql`${runs} and ${inPackage} and ${DOING} = ${DOES[is]}`)
    case 'installs':
      return hasUpdate(sql`${aims} and ${inPackage} and ${DOING} = 'updating'`)
    case 'fails':
      return hasUpdate(sql`${aims} and ${inPackage} and ${DOING} = 'failed'`)
    case 'others':
      return hasUpdate(sql`u.current_version is not null and not ${runs} and not ${aims} and ${inPackage}`)
    case 'unknown':
      return sql<boolean>`not ${hasUpdate(
        sql`(u.current_version is not null or u.path is not null and (${aims} or not ${inPackage}))`,
      )}`
  }
}

function hasUpdate(condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from device_update u where u.device_id = d.device_id and ${condition})`
}

/** Condition that a device reports a package whose id meets a condition, by its path or, without a path, by its version. */
function isOf(projectId: string, packageId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(case when u.path is not null then ${isNamed(projectId, packageId)}
    else coalesce(u.current_version in (
      select o.word from (${versionsOfOnePackage(projectId)}) o where o.package_id ${packageId}), false) end)`
}

function isNamed(projectId: string, packageId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(split_part(u.path, '/', 3) <> '' and (split_part(u.path, '/', 1), split_part(u.path, '/', 2)) in (
    select n.repository, n.package from (${packagesByName(projectId)}) n where n.package_id ${packageId}))`
}

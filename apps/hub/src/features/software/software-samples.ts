import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { isCancelled } from '../../platform/database/client/errors.ts'
import { countSoftware, type SoftwareCounts } from './software-counts.ts'

/** Interval between two samples of a project, in seconds. */
export const SAMPLE_STEP_SECS = 60 * 60
/** Number of days for which samples are kept. */
const KEPT_DAYS = 14
/** Number of projects that one statement counts. */
const PROJECTS = 20
/** Number of samples per delete statement. */
const REMOVED_ROWS = 5_000
/** Maximum number of versions of a project in a sample. Versions with the most devices are kept. */
const MAX_VERSIONS = 500

/**
 * Stores the numbers of devices that run each version for the next projects after `projectId` that have no sample of this hour. Resolves to
 * the last of these projects, or to undefined when none is left. `onSkip` is called for a project whose count reached the timeout.
 */
export async function sampleSoftware(
  db: Db,
  projectId: string,
  onSkip: (projectId: string, error: unknown) => void,
): Promise<string | undefined> {
  const { rows } = await sql<{ project_id: string }>`
    select p.project_id from project p
     where p.project_id > ${projectId}
       and exists (select from project_repository l where l.project_id = p.project_id)
       and not exists (select from software_sample s where s.project_id = p.project_id and s.sampled_at = date_trunc('hour', now()))
     order by p.project_id limit ${PROJECTS}`.execute(db)
  const last = rows.at(-1)?.project_id
  if (last === undefined) return undefined
  const counted = await countEach(
    db,
    rows.map(row => row.project_id),
    onSkip,
  )
  const projectIds = [...counted.keys()]
  // A project whose devices have never run a known version gets no row.
  await sql`
    insert into software_sample (project_id, sampled_at, counts)
    select i.project_id, date_trunc('hour', now()), i.counts::jsonb
      from unnest(${projectIds}::text[], ${projectIds.map(id => JSON.stringify(runsOf(counted.get(id)!)))}::text[]) as i (project_id, counts)
      join project p on p.project_id = i.project_id
     where i.counts <> '{}' or exists (select from software_sample s where s.project_id = i.project_id and s.counts <> '{}')
    on conflict do nothing`.execute(db)
  return last
}

/** Counts all projects in one statement. If it reaches the statement timeout, each project is counted in a separate statement. */
async function countEach(
  db: Db,
  projectIds: readonly string[],
  onSkip: (projectId: string, error: unknown) => void,
): Promise<Map<string, SoftwareCounts>> {
  try {
    return await countSoftware(db, projectIds)
  } catch (error) {
    if (!isCancelled(error)) throw error
    const [first, ...others] = projectIds
    if (others.length === 0) {
      onSkip(first!, error)
      return new Map()
    }
  }
  const counted = new Map<string, SoftwareCounts>()
  for (const id of projectIds)
    for (const [found, counts] of await countEach(db, [id], onSkip)) counted.set(found, counts)
  return counted
}

/** Deletes a portion of the samples that are older than 14 days. Resolves to whether there may be more. */
export async function removeOldSamples(db: Db): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from software_sample where ctid = any (array(
      select ctid from software_sample where sampled_at < date_trunc('hour', now()) - make_interval(days => ${KEPT_DAYS})
       order by sampled_at limit ${REMOVED_ROWS}))`.execute(db)
  return Number(numAffectedRows) === REMOVED_ROWS
}

/** Numbers of devices of a project by the id of the version that they run. */
function runsOf({ versions }: SoftwareCounts): Record<string, number> {
  const runs = new Map<string, number>()
  for (const { versionId, devices } of versions)
    if (versionId !== null) runs.set(versionId, (runs.get(versionId) ?? 0) + devices)
  return Object.fromEntries([...runs].sort((a, b) => b[1] - a[1]).slice(0, MAX_VERSIONS))
}

/** Text that changes when samples of the given projects are added or removed. Reading it is much cheaper than reading the samples. */
export async function samplesState(db: Db, projectIds: readonly string[]): Promise<string> {
  const { rows } = await sql<{ state: string }>`
    select concat(count(*), ' ', min(sampled_at), ' ', max(sampled_at)) as state
      from software_sample where project_id = any (${projectIds}::text[])`.execute(db)
  return rows[0]!.state
}

/**
 * Numbers of devices that ran a version (`counts`) and a second version (`compared`), one number an hour, oldest first. The number is null
 * for an hour in which one of the projects was not counted.
 */
export type VersionSeries = { fromSecs: number; counts: (number | null)[]; compared: (number | null)[] }

/** Reads the samples of the last 14 days for a version and for a second version to compare; undefined without samples. */
export async function readSeries(
  db: Db,
  projectIds: readonly string[],
  versionId: string,
  comparedId: string | undefined,
): Promise<VersionSeries | undefined> {
  const since = sql`sampled_at >= date_trunc('hour', now()) - make_interval(days => ${KEPT_DAYS})`
  const step = sql<number>`(extract(epoch from sampled_at) / ${SAMPLE_STEP_SECS})::bigint`
  const { rows } = await sql<{ step: number; projects: number; runs: number; compared: number }>`
    select ${step} as step, count(*) as projects, sum(coalesce((counts ->> ${versionId})::bigint, 0))::bigint as runs,
           sum(coalesce((counts ->> ${comparedId ?? ''})::bigint, 0))::bigint as compared
      from software_sample where project_id = any (${projectIds}::text[]) and ${since}
     group by sampled_at order by sampled_at`.execute(db)
  if (rows.length === 0) return undefined
  const { rows: spans } = await sql<{ first: number; last: number }>`
    select min(${step}) as first, max(${step}) as last
      from software_sample where project_id = any (${projectIds}::text[]) and ${since} group by project_id`.execute(
    db,
  )
  const first = rows[0]!.step
  const last = rows.at(-1)!.step
  const byStep = new Map(rows.map(row => [row.step, row]))
  const series: VersionSeries = { fromSecs: first * SAMPLE_STEP_SECS, counts: [], compared: [] }
  for (let at = first; at <= last; at++) {
    const row = byStep.get(at)
    // Counts the projects that must have a sample of this hour. A project whose last sample is of the hour before counts, too: the job may
    // not have reached it yet.
    const expected = spans.filter(span => span.first <= at && span.last >= at - 1).length
    const isWhole = row !== undefined && row.projects >= expected
    series.counts.push(isWhole ? row.runs : null)
    series.compared.push(isWhole ? row.compared : null)
  }
  return series
}

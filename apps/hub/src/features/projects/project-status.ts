import { MAX_MARKED_DEVICES, type ParsedInput } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { type Db, select } from '../../platform/database/client/connection.ts'
import { HAS_FAILED } from '../software/index.ts'
import { BY_PROJECT_NAME } from './project-names.ts'

/** Interval between two samples of the number of connected devices, in seconds. */
export const STEP_SECS = 10 * 60
/** Number of samples that are stored for a project: 24 h. */
const STEPS = 144
/** Time, in milliseconds, for which the counts of a project are cached. */
const KEPT_MS = 2_000

/** Counts of neighbouring devices of a project that the console draws as one mark. */
export type Bin = { devices: number; connected: number; pending: number }

/** Counts of the devices of a project. */
export type ProjectCounts = {
  devices: number
  connected: number
  warnings: number
  errors: number
  pending: number
  /** The devices in the default number of bins. */
  bins: Bin[]
}

/**
 * Samples of the number of connected devices, oldest first; null for a step without a sample. `fromSecs` is the time of the first sample.
 */
export type ConnectedSeries = { fromSecs: number; counts: (number | null)[] }

/** The most frequent error of failed updates in a project. */
export type UpdateFailure = { targetVersion: string | null; error: string | null; devices: number }

/** An `UpdateFailure` as the sampling job stored it, with the time of the count in seconds since 1970. */
type SampledFailure = UpdateFailure & { countedAtSecs: number }

type StatusRow = {
  is_fresh: boolean | null
  device_count: number | null
  connected_count: number
  warning_count: number
  error_count: number
  pending_count: number
  bins: Bin[]
  /** `at` is absent in rows of older nodes. */
  update_failure: (UpdateFailure & { at?: number }) | null
  step: number
  sampled_step: number | null
  connected_counts: (number | null)[]
}

/**
 * The stored counts of a project, if they are less than 2 s old, the samples of its connected devices in the last 24 h, and its most
 * frequent update failure.
 */
export async function keptStatus(
  db: Db,
  projectId: string,
): Promise<{
  counts: ProjectCounts | undefined
  series: ConnectedSeries | undefined
  sampledFailure: SampledFailure | undefined
}> {
  const [row] = await select<StatusRow>(
    db,
    `select counted_at > now() - make_interval(secs => $2) as is_fresh, device_count, connected_count, warning_count, error_count,
            pending_count, bins, update_failure, floor(extract(epoch from now()) / $3)::bigint as step, sampled_step, connected_counts
       from project_status where project_id = $1`,
    [projectId, KEPT_MS / 1000, STEP_SECS],
  )
  if (!row) return { counts: undefined, series: undefined, sampledFailure: undefined }
  return {
    counts: row.is_fresh
      ? {
          devices: row.device_count!,
          connected: row.connected_count,
          warnings: row.warning_count,
          errors: row.error_count,
          pending: row.pending_count,
          bins: row.bins,
        }
      : undefined,
    series: seriesOf(row),
    sampledFailure: row.update_failure
      ? {
          ...row.update_failure,
          countedAtSecs: row.update_failure.at ?? (row.sampled_step ?? row.step) * STEP_SECS,
        }
      : undefined,
  }
}

/** Counts the most frequent error of failed updates in a project; null without one. Reads each failed update of the instance. */
export async function countUpdateFailure(db: Db, projectId: string): Promise<UpdateFailure | null> {
  const { rows } = await sql<UpdateFailure>`
    select u.target_version as "targetVersion", u.error, count(*) as devices
      from device_update u join device d using (device_id)
     where d.project_id = ${projectId} and ${HAS_FAILED}
     group by 1, 2 order by devices desc, u.error limit 1`.execute(db)
  return rows[0] ?? null
}

/** Returns the samples up to now, oldest first. The steps since the newest sample are null. */
function seriesOf({ step, sampled_step, connected_counts }: StatusRow): ConnectedSeries | undefined {
  if (sampled_step === null || step - sampled_step >= STEPS) return undefined
  const missing = Array.from({ length: Math.max(0, step - sampled_step) }, () => null)
  const counts = [...missing, ...connected_counts].slice(0, STEPS).reverse()
  const last = Math.max(step, sampled_step)
  return { fromSecs: (last - counts.length + 1) * STEP_SECS, counts }
}

/**
 * Stores the counts of a project. Lists of projects are sorted by them. Consoles share the counts of a project with many devices for 2 s
 * instead of counting again.
 */
export async function keepCounts(db: Db, projectId: string, counts: ProjectCounts): Promise<void> {
  const isShared = counts.devices > MAX_MARKED_DEVICES
  const row = {
    counted_at: isShared ? sql<Date>`now()` : null,
    device_count: counts.devices,
    connected_count: counts.connected,
    warning_count: counts.warnings,
    error_count: counts.errors,
    pending_count: counts.pending,
    bins: isShared ? JSON.stringify(counts.bins) : null,
  }
  // The consoles of a small project ask often, and its counts seldom change. A write would lock the row and wait for the disk.
  if (!isShared && (await hasCounts(db, projectId, counts))) return
  await db
    .insertInto('project_status')
    .values({ project_id: projectId, ...row })
    .onConflict(conflict => conflict.column('project_id').doUpdateSet(row))
    .execute()
}

/** Whether the stored counts of a project equal `counts`. */
async function hasCounts(db: Db, projectId: string, counts: ProjectCounts): Promise<boolean> {
  const { devices, connected, warnings, errors, pending } = counts
  const [row] = await select(
    db,
    `select from project_status where project_id = $1
      and (device_count, connected_count, warning_count, error_count, pending_count) = ($2::int, $3::int, $4::int, $5::int, $6::int)`,
    [projectId, devices, connected, warnings, errors, pending],
  )
  return row !== undefined
}

/**
 * Stores the counts and the most frequent update failure of each project, and one sample of its connected devices for each 10 min. The
 * counts come from indexes that hold connected devices, devices with problems and pending certificates, and failed updates.
 */
export async function sampleConnected(db: Db): Promise<void> {
  await sql`
    with failure as (
      select distinct on (project_id) project_id,
             jsonb_build_object('targetVersion', target_version, 'error', error, 'devices', devices,
                                'at', extract(epoch from now())) as failure
        from (select d.project_id, u.target_version, u.error, count(*) as devices
                from device_update u join device d using (device_id)
               where ${HAS_FAILED} group by 1, 2, 3) g
       order by project_id, devices desc, error
    )
    insert into project_status as s (project_id, device_count, connected_count, warning_count, error_count, pending_count,
                                     update_failure, sampled_step, connected_counts)
    select c.project_id, c.devices, on_line.devices, unwell.warnings, unwell.errors, waiting.devices, f.failure,
           floor(extract(epoch from now()) / ${STEP_SECS})::bigint, array[on_line.devices]
      from (select project_id, sum(devices)::integer as devices from project_device_count group by project_id) c
      cross join lateral (
        select count(*)::integer as devices from device d where d.project_id = c.project_id and d.is_connected) on_line
      cross join lateral (
        select count(*) filter (where d.health = 'degraded')::integer as warnings,
               count(*) filter (where d.health = 'error')::integer as errors
          from device d where d.project_id = c.project_id and d.health in ('degraded', 'error') and d.is_connected) unwell
      cross join lateral (
        select count(*)::integer as devices from device d
         where d.project_id = c.project_id and d.pending_certificates > 0) waiting
      left join failure f using (project_id)
    on conflict (project_id) do update set
      device_count = excluded.device_count,
      connected_count = excluded.connected_count,
      warning_count = excluded.warning_count,
      error_count = excluded.error_count,
      pending_count = excluded.pending_count,
      update_failure = excluded.update_failure,
      sampled_step = excluded.sampled_step,
      connected_counts = (
        select trim_array(all_counts, greatest(cardinality(all_counts) - ${STEPS}, 0))
          from (select excluded.connected_counts
                    || array_fill(null::integer, array[least(excluded.sampled_step - coalesce(s.sampled_step, excluded.sampled_step - 1) - 1, ${STEPS})::integer])
                    || s.connected_counts as all_counts) c)
     where s.sampled_step is null or s.sampled_step < excluded.sampled_step`.execute(db)
}

/** States by which a list of projects is filtered. A project matches if it has a device (or pending certificate) in the state. */
type ProjectState = NonNullable<NonNullable<ParsedInput<'organizations_QueryProjects'>['filter']>['state']>

const IN_STATE: Record<ProjectState, RawBuilder<boolean>> = {
  connected: sql`s.connected_count > 0`,
  disconnected: sql`s.device_count > s.connected_count`,
  error: sql`s.error_count > 0`,
  warning: sql`s.warning_count > 0`,
  pending: sql`s.pending_count > 0`,
}

/** Condition that the stored counts `s` of a project match the filter `state`; true without a filter. */
export function isInState(state: ProjectState | undefined): RawBuilder<boolean> {
  return state ? IN_STATE[state] : sql<boolean>`true`
}

/**
 * Sort key of the project `p` with the stored counts `s`: the most errors first, then warnings, then pending certificates, then the name.
 * The errors are the devices with errors or the devices with the most frequent update failure, whichever are more. Each count is a text of
 * fixed length, so that one text has the whole order.
 */
export const BY_PROBLEMS = sql`
  lpad((999999999 - greatest(coalesce(s.error_count, 0), coalesce((s.update_failure->>'devices')::integer, 0)))::text, 9, '0')
  || lpad((999999999 - coalesce(s.warning_count, 0))::text, 9, '0')
  || lpad((999999999 - coalesce(s.pending_count, 0))::text, 9, '0') || ${BY_PROJECT_NAME.by}`

/** Sums of the stored counts of all projects of an organization, and the number of projects in each state. */
export async function totalsOf(db: Db, organizationId: string) {
  const sumOf = (column: RawBuilder<unknown>) => sql<number>`coalesce(sum(${column}), 0)::bigint`
  return db
    .selectFrom('project as p')
    .innerJoin('project_status as s', 's.project_id', 'p.project_id')
    .where('p.organization_id', '=', organizationId)
    .select([
      // The job that samples all projects stores no time but its step of 10 minutes, so the begin of that step is the oldest time of a count.
      sql<Date | null>`min(greatest(s.counted_at, to_timestamp(s.sampled_step * ${STEP_SECS}::integer)))`.as(
        'countedAt',
      ),
      sumOf(sql`s.device_count`).as('deviceCount'),
      sumOf(sql`s.connected_count`).as('connectedCount'),
      sumOf(sql`s.warning_count`).as('warningCount'),
      sumOf(sql`s.error_count`).as('errorCount'),
      sumOf(sql`s.pending_count`).as('pendingCount'),
      sql<number>`count(*) filter (where s.warning_count > 0)`.as('warningProjects'),
      sql<number>`count(*) filter (where s.error_count > 0)`.as('errorProjects'),
      sql<number>`count(*) filter (where s.pending_count > 0)`.as('pendingProjects'),
    ])
    .executeTakeFirstOrThrow()
}

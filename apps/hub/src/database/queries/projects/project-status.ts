import { MAX_MARKED_DEVICES } from '@muster/actions'
import { sql } from 'kysely'
import { type Db, select } from '../../client/connection.ts'

/** Seconds between two samples of the number of connected devices, and number of samples that are stored, which cover 24 h. */
export const STEP_SECS = 10 * 60
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

type StatusRow = {
  is_fresh: boolean | null
  device_count: number | null
  connected_count: number
  warning_count: number
  error_count: number
  pending_count: number
  bins: Bin[]
  step: number
  sampled_step: number | null
  connected_counts: (number | null)[]
}

/** The stored counts of a project, if they are less than 2 s old, and the samples of its connected devices in the last 24 h. */
export async function keptStatus(
  db: Db,
  projectId: string,
): Promise<{ counts: ProjectCounts | undefined; series: ConnectedSeries | undefined }> {
  const [row] = await select<StatusRow>(
    db,
    `select counted_at > now() - make_interval(secs => $2) as is_fresh, device_count, connected_count, warning_count, error_count,
            pending_count, bins, floor(extract(epoch from now()) / $3)::bigint as step, sampled_step, connected_counts
       from project_status where project_id = $1`,
    [projectId, KEPT_MS / 1000, STEP_SECS],
  )
  if (!row) return { counts: undefined, series: undefined }
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
  }
}

/** Returns the samples up to now, oldest first. The steps since the newest sample are null. */
function seriesOf({ step, sampled_step, connected_counts }: StatusRow): ConnectedSeries | undefined {
  if (sampled_step === null || step - sampled_step >= STEPS) return undefined
  const missing = Array.from({ length: Math.max(0, step - sampled_step) }, () => null)
  const counts = [...missing, ...connected_counts].slice(0, STEPS).reverse()
  const last = Math.max(step, sampled_step)
  return { fromSecs: (last - counts.length + 1) * STEP_SECS, counts }
}

/** Stores the counts of a project with many devices, so that consoles share them for 2 s instead of counting again. */
export async function keepCounts(db: Db, projectId: string, counts: ProjectCounts): Promise<void> {
  if (counts.devices <= MAX_MARKED_DEVICES) return
  const row = {
    counted_at: sql<Date>`now()`,
    device_count: counts.devices,
    connected_count: counts.connected,
    warning_count: counts.warnings,
    error_count: counts.errors,
    pending_count: counts.pending,
    bins: JSON.stringify(counts.bins),
  }
  await db
    .insertInto('project_status')
    .values({ project_id: projectId, ...row })
    .onConflict(conflict => conflict.column('project_id').doUpdateSet(row))
    .execute()
}

/** Stores the number of connected devices of each project with many devices, one sample for each 10 min. */
export async function sampleConnected(db: Db): Promise<void> {
  await sql`
    with large as (
      select project_id from project_device_count group by project_id having sum(devices) > ${MAX_MARKED_DEVICES}
    )
    insert into project_status as s (project_id, sampled_step, connected_counts)
    select project_id, floor(extract(epoch from now()) / ${STEP_SECS})::bigint,
           array[(select count(*)::integer from device d where d.project_id = large.project_id and d.is_connected)]
      from large
    on conflict (project_id) do update set
      sampled_step = excluded.sampled_step,
      connected_counts = (
        select trim_array(all_counts, greatest(cardinality(all_counts) - ${STEPS}, 0))
          from (select excluded.connected_counts
                    || array_fill(null::integer, array[least(excluded.sampled_step - coalesce(s.sampled_step, excluded.sampled_step - 1) - 1, ${STEPS})::integer])
                    || s.connected_counts as all_counts) c)
     where s.sampled_step is null or s.sampled_step < excluded.sampled_step`.execute(db)
}

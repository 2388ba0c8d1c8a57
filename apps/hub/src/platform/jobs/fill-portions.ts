import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'

/** Jobs that fill rows of devices, and the key of their state in `instance_setting`. */
const KEYS = {
  devices_FillUpdates: 'devices.fillUpdates',
  devices_FillAddresses: 'devices.fillAddresses',
  devices_FillNameKeys: 'devices.fillNameKeys',
  devices_MoveReportedLabels: 'devices.moveReportedLabels',
} as const

/** Maximum number of portions of a run once the rows of all devices were filled, so that an hourly run does not read every device. */
const MAX_PORTIONS = 100
/** Interval of log lines with the progress, in milliseconds. */
const LOG_MS = 30_000

/** State of a job that fills rows of devices, as JSON in `instance_setting`. */
type Progress = {
  /** Id of the last device of the last portion; empty before the first one. */
  lastDeviceId: string
  /** Whether the job has gone through all devices at least once. */
  isFilled: boolean
  /** Number of devices up to `lastDeviceId`, and of all devices. Nodes of the release before store neither. */
  done?: number
  total?: number
}

/** A job that fills rows of devices. */
type FillJob = keyof typeof KEYS

type Fill = {
  job: FillJob
  /** Devices per portion. */
  portion: number
  /** Processes the portion after a device. Resolves to the last device of the portion, or to undefined when none is left. */
  fill: (lastDeviceId: string, portion: number) => Promise<string | undefined>
}

/**
 * Fills rows of devices in portions, in the order of their ids. The position is stored, so an attempt continues the work of an interrupted
 * attempt, and the list of jobs shows it. Once every device was filled, a run processes only the next `MAX_PORTIONS` portions. These runs
 * fill rows that an older version of the hub did not write during an upgrade, and rows that `link/telemetry/ingest.ts` failed to write.
 */
export async function fillInPortions(
  { db, log }: { db: Db; log: Logger },
  signal: AbortSignal,
  { job, portion, fill }: Fill,
): Promise<void> {
  const before = (await readProgress(db, job)) ?? { lastDeviceId: '', isFilled: false }
  const { rows } = await sql<{ total: number }>`
    select coalesce(sum(devices), 0)::float8 as total from project_device_count`.execute(db)
  const { total } = rows[0]!
  let progress = before
  let loggedAtMs = performance.now()
  for (let portions = 0; !before.isFilled || portions < MAX_PORTIONS; portions++) {
    signal.throwIfAborted()
    const last = await fill(progress.lastDeviceId, portion)
    const doneBefore = progress.lastDeviceId === '' ? 0 : (progress.done ?? 0)
    const done = last === undefined ? total : Math.min(doneBefore + portion, total)
    progress = { lastDeviceId: last ?? '', isFilled: before.isFilled || last === undefined, done, total }
    await sql`
      insert into instance_setting (key, value) values (${KEYS[job]}, ${JSON.stringify(progress)}::jsonb)
      on conflict (key) do update set value = excluded.value`.execute(db)
    const isFirstEnd = last === undefined && !before.isFilled
    if (isFirstEnd || (!before.isFilled && performance.now() - loggedAtMs > LOG_MS)) {
      loggedAtMs = performance.now()
      log.info({ job, done, total }, 'rows of devices are filled after an upgrade')
    }
    if (last === undefined) return
  }
}

/** Devices whose rows a job has filled, and all devices. Undefined before its first portion, and once all were filled. */
export async function fillProgress(
  db: Db,
  job: string,
): Promise<{ done: number; total: number } | undefined> {
  if (!Object.hasOwn(KEYS, job)) return undefined
  const progress = await readProgress(db, job as FillJob)
  if (progress?.total === undefined || progress.isFilled) return undefined
  return { done: progress.done ?? 0, total: progress.total }
}

async function readProgress(db: Db, job: FillJob): Promise<Progress | undefined> {
  const row = await db
    .selectFrom('instance_setting')
    .where('key', '=', KEYS[job])
    .select('value')
    .executeTakeFirst()
  return row?.value as Progress | undefined
}

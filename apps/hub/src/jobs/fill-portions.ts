import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'

/** Maximum number of portions of a run once the rows of all devices were filled, so that an hourly run does not read every device. */
const MAX_PORTIONS = 100

/** State of a job that fills rows of devices, as JSON in `instance_setting`. */
type Progress = {
  /** Id of the last device of the last portion; empty before the first one. */
  lastDeviceId: string
  /** Whether the job has gone through all devices at least once. */
  isFilled: boolean
}

/**
 * Fills rows of devices in portions, in the order of their ids. `fill` processes the portion after a device. It resolves to the last device
 * of the portion, or to undefined when none is left. The position is stored, so an attempt continues the work of an interrupted attempt.
 * Once every device was filled, a run processes only the next `MAX_PORTIONS` portions. These runs fill rows that an older version of the
 * hub did not write during an upgrade, and rows that `telemetry/ingest.ts` failed to write.
 */
export async function fillInPortions(
  db: Db,
  signal: AbortSignal,
  key: string,
  fill: (lastDeviceId: string) => Promise<string | undefined>,
): Promise<void> {
  const row = await db
    .selectFrom('instance_setting')
    .where('key', '=', key)
    .select('value')
    .executeTakeFirst()
  const before = (row?.value ?? { lastDeviceId: '', isFilled: false }) as Progress
  let progress = before
  for (let portions = 0; !before.isFilled || portions < MAX_PORTIONS; portions++) {
    signal.throwIfAborted()
    const last = await fill(progress.lastDeviceId)
    progress = { lastDeviceId: last ?? '', isFilled: before.isFilled || last === undefined }
    await sql`
      insert into instance_setting (key, value) values (${key}, ${JSON.stringify(progress)}::jsonb)
      on conflict (key) do update set value = excluded.value`.execute(db)
    if (last === undefined) return
  }
}

import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'

/** Maximum number of portions of a run after all devices were filled once, so that an hourly run does not read every device. */
const MAX_PORTIONS = 100

/** State of a job that fills rows of devices, as JSON in `instance_setting`. */
type Progress = {
  /** Id of the last device of the last portion; empty before the first one. */
  lastDeviceId: string
  /** Whether every device was filled once. */
  isFilled: boolean
}

/**
 * Fills rows of devices in portions, in the order of their ids. `fill` processes the portion after a device and resolves to its last device,
 * or to undefined when none is left. The place is stored, so an attempt continues the work of an interrupted attempt. Once every device was
 * filled, a run processes only the next `MAX_PORTIONS` portions. Those find what a node with an older version of the hub has written during
 * an upgrade, and the writes of `telemetry/ingest.ts` that could not be completed.
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

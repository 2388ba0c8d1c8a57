import { sql } from 'kysely'
import { CLAIMED_AT } from '../../../link/telemetry/device-events.ts'
import { WRONG_CLOCK_DAY } from '../../../link/telemetry/event-times.ts'
import { type Db, unlimitedTransaction } from '../../../platform/database/client/connection.ts'
import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'
import { LimitReached } from '../../../platform/limits/limit-reached.ts'
import type { LimitName, LimitValues } from '../../../platform/limits/limits.ts'
import { ROW_BYTES, type WriteSubject } from '../../../platform/limits/write-budgets.ts'

/** Number of rows per delete statement. */
const ROWS = 5_000
/**
 * Share of a device's limit that its rows still fill after the oldest rows are removed. The free share delays the next removal.
 */
const KEPT_SHARE = 0.9

/**
 * Tables with histories of a device, which grow without end. Each entry has the name of the limit, the column of
 * `device_stored_bytes` that counts the bytes, and SQL for the key, time, day and size of a row.
 */
const HISTORIES = [
  {
    limit: 'device-event-bytes',
    table: 'device_event',
    count: 'event_bytes',
    // An event from a wrong clock is removed with the events that were received with it.
    at: sql`case when event_day = ${WRONG_CLOCK_DAY}::date then received_at else least(emitted_at, received_at) end`,
    key: sql`device_id, event_id, event_day`,
    day: sql`(received_at at time zone 'UTC')::date`,
    bytes: sql`octet_length(body::text) + octet_length(attributes::text)`,
    remedy: 'The oldest events were removed.',
  },
  {
    limit: 'device-history-bytes',
    table: 'device_property_change',
    count: 'change_bytes',
    at: sql.ref('changed_at'),
    key: sql`device_id, name, changed_at`,
    day: sql`(changed_at at time zone 'UTC')::date`,
    bytes: sql`coalesce(octet_length(value::text), 0)`,
    remedy: 'The oldest past values were removed.',
  },
] as const

type History = (typeof HISTORIES)[number]
type Measured = { day: string; kept_bytes: number; bytes: number; cut: string | null }

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_MeasureStored: Record<never, never>
  }
}

/**
 * Removes the oldest events and property changes of devices over their limits, then sums the stored bytes of each project and the
 * metadata of each repository.
 */
export const devices_MeasureStored = defineJob({
  name: 'devices_MeasureStored',
  // The job reads every stored row of each device that is over a limit, which may take minutes.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  run: async ({ db, limits, limitReports, storedBytes }, _data, { signal }) => {
    await storedBytes.flush()
    for (const history of HISTORIES) {
      for (const subject of await devicesOver(db, history, limits)) {
        signal.throwIfAborted()
        const max = limits[history.limit]
        const bytes = await trimToLimit(db, history, subject.deviceId, max, signal)
        if (bytes <= max) continue
        const { limit, remedy } = history
        const { message } = new LimitReached({ limit, subject, max, found: bytes, remedy })
        limitReports.add(limit, subject, message)
      }
    }
    await measureProjects(db)
    await measureRepositories(db)
    await storedBytes.refresh()
  },
})

/** Devices whose counted bytes exceed a limit. */
async function devicesOver(
  db: Db,
  { count, limit }: { count: string; limit: LimitName },
  limits: LimitValues,
): Promise<WriteSubject[]> {
  const { rows } = await unlimitedTransaction(db, tx =>
    sql<WriteSubject>`
        select device_id as "deviceId", project_id as "projectId", organization_id as "organizationId"
          from (select device_id from device_stored_bytes group by device_id having sum(${sql.ref(count)}) > ${limits[limit]}) o
          join device using (device_id) join project using (project_id)`.execute(tx),
  )
  return rows
}

/**
 * Measures the stored rows of a device and removes the oldest if they exceed its limit; resolves to the bytes measured. The bytes
 * of the rows that stay replace the counters in `device_stored_bytes`. These may be too high: an event that a device sends twice is
 * counted twice but stored once.
 */
async function trimToLimit(
  db: Db,
  { table, count, at, key, day, bytes }: History,
  deviceId: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<number> {
  const from = sql.table(table)
  const own = sql`device_id = ${deviceId} and ${at} > ${CLAIMED_AT}::timestamptz`
  const { rows } = await unlimitedTransaction(db, tx =>
    sql<Measured>`
      with sized as (
        select ${at} as at, ${day} as day, ${bytes} + ${ROW_BYTES} as bytes from ${from} where ${own}
      ), ranked as (select *, sum(bytes) over (order by at desc) as newest_bytes from sized)
      select day::text, sum(bytes)::bigint as bytes,
             coalesce(sum(bytes) filter (where newest_bytes <= ${maxBytes * KEPT_SHARE}), 0)::bigint as kept_bytes,
             max(at) filter (where newest_bytes > ${maxBytes * KEPT_SHARE})::text as cut
        from ranked group by day`.execute(tx),
  )
  const total = rows.reduce((sum, row) => sum + row.bytes, 0)
  const isOver = total > maxBytes
  if (isOver) {
    const cut = rows.reduce((latest, row) => (row.cut !== null && row.cut > latest ? row.cut : latest), '')
    for (let removed = ROWS; removed === ROWS; signal.throwIfAborted()) {
      const { numAffectedRows } = await sql`
        delete from ${from} where (${key}) in (
          select ${key} from ${from} where ${own} and ${at} <= ${cut}::timestamptz limit ${ROWS})`.execute(db)
      removed = Number(numAffectedRows)
    }
  }
  await db.transaction().execute(async tx => {
    const column = sql.ref(count)
    await sql`update device_stored_bytes set ${column} = 0 where device_id = ${deviceId}`.execute(tx)
    const days = rows.map(row => row.day)
    const sizes = rows.map(row => (isOver ? row.kept_bytes : row.bytes))
    await sql`
      insert into device_stored_bytes (device_id, day, ${column})
      select device_id, day, bytes from unnest(${days}::date[], ${sizes}::bigint[]) as i (day, bytes)
        join device on device_id = ${deviceId}
      on conflict (device_id, day) do update set ${column} = excluded.${column}`.execute(tx)
  })
  return total
}

/** Replaces the stored totals of all projects by new sums. A project without stored bytes loses its row. */
async function measureProjects(db: Db): Promise<void> {
  await unlimitedTransaction(db, async tx => {
    await sql`
      insert into project_stored_bytes (project_id, bytes, measured_at)
      select d.project_id, sum(s.bytes), now()
        from (
          select device_id, sum(event_bytes + change_bytes) as bytes from device_stored_bytes group by device_id
          union all
          select device_id, sum(coalesce(value_bytes, pg_column_size(value)) + ${ROW_BYTES}) from device_property group by device_id
        ) s join device d using (device_id) join project using (project_id)
       group by d.project_id
      on conflict (project_id) do update set bytes = excluded.bytes, measured_at = excluded.measured_at`.execute(
      tx,
    )
    await sql`delete from project_stored_bytes where measured_at < now()`.execute(tx)
  })
}

/**
 * Replaces the stored totals of all repositories by new sums of the metadata of their packages, versions and files. `pg_column_size` is
 * the size on the disk, for which PostgreSQL reads no metadata.
 */
async function measureRepositories(db: Db): Promise<void> {
  const size = sql`sum(pg_column_size(metadata) + ${ROW_BYTES})`
  await unlimitedTransaction(db, async tx => {
    await sql`
      insert into repository_stored_bytes (repository_id, metadata_bytes, measured_at)
      select repository_id, sum(s.bytes), now()
        from (
          select package_id, ${size} as bytes from package group by package_id
          union all
          select package_id, ${size} from package_asset group by package_id
          union all
          select package_id, ${size} from package_version group by package_id
          union all
          select package_id, sum(f.bytes)
            from (select version_id, ${size} as bytes from version_asset group by version_id) f
            join package_version using (version_id) group by package_id
        ) s join package using (package_id) join repository using (repository_id)
       group by repository_id
      on conflict (repository_id) do update
        set metadata_bytes = excluded.metadata_bytes, measured_at = excluded.measured_at`.execute(tx)
    await sql`delete from repository_stored_bytes where measured_at < now()`.execute(tx)
  })
}

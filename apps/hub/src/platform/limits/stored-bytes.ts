import { every } from '@muster/concurrency'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitValues } from './limits.ts'
import type { TotalReached, WriteSubject } from './write-budgets.ts'

/** Interval at which counts are added to the database, in milliseconds. A killed node loses the counts since the last flush. */
const FLUSH_MS = 10 * 60_000
/** Interval at which measured totals are read, in milliseconds. */
const REFRESH_MS = 30_000
/** Number of devices per statement. */
const DEVICES_PER_STATEMENT = 1_000

type Counts = { eventBytes: number; changeBytes: number }

/** Adds bytes to the counts of today. Rows are locked in the order of their keys, so that two nodes do not deadlock. */
const ADD_STORED = `
    insert into device_stored_bytes (device_id, day, event_bytes, change_bytes)
    select i.device_id, (now() at time zone 'UTC')::date, i.event_bytes, i.change_bytes
      from unnest($1::text[], $2::bigint[], $3::bigint[]) as i (device_id, event_bytes, change_bytes)
      join device using (device_id)
     order by i.device_id
    on conflict (device_id, day) do update set
      event_bytes = device_stored_bytes.event_bytes + excluded.event_bytes,
      change_bytes = device_stored_bytes.change_bytes + excluded.change_bytes`

/** Removes counts of days before the retention of events. */
export async function removeOldStoredBytes({
  db,
  eventRetentionDays,
}: {
  db: Db
  eventRetentionDays: number
}): Promise<void> {
  await sql`delete from device_stored_bytes where day < current_date - ${eventRetentionDays}::integer`.execute(
    db,
  )
}

/** Increases today's count of a device by the number of bytes that a transaction stores. */
export async function addStoredBytes(
  tx: Tx,
  deviceId: string,
  count: 'event_bytes' | 'change_bytes',
  bytes: number,
): Promise<void> {
  const column = sql.ref(count)
  await sql`
    insert into device_stored_bytes (device_id, day, ${column})
    values (${deviceId}, (now() at time zone 'UTC')::date, ${bytes})
    on conflict (device_id, day) do update set ${column} = device_stored_bytes.${column} + excluded.${column}`.execute(
    tx,
  )
}

/** Increases today's count of each of several devices, in the order of their ids, so that two transactions do not deadlock. */
export async function addStoredBytesOfEach(
  tx: Tx,
  count: 'event_bytes' | 'change_bytes',
  bytes: ReadonlyMap<string, number>,
): Promise<void> {
  const column = sql.ref(count)
  await sql`
    insert into device_stored_bytes (device_id, day, ${column})
    select i.device_id, (now() at time zone 'UTC')::date, i.bytes
      from unnest(${[...bytes.keys()]}::text[], ${[...bytes.values()]}::bigint[]) as i (device_id, bytes)
     order by i.device_id
    on conflict (device_id, day) do update set ${column} = device_stored_bytes.${column} + excluded.${column}`.execute(
    tx,
  )
}

/**
 * Counts the stored bytes of events and property changes of each device. Counts are collected in memory and added to the database
 * every 10 minutes, so that writes do not contend for the rows of the counts. A job sums the counts per project
 * (features/devices/jobs/MeasureStored.ts), and each node reads the sums every 30 s.
 */
export class StoredBytes implements AsyncDisposable {
  readonly #db: Db
  readonly #pool: pg.Pool
  readonly #limits: LimitValues
  #counts = new Map<string, Counts>()
  #projectBytes = new Map<string, number>()
  #organizationBytes = new Map<string, number>()
  readonly #loops: AsyncDisposable[]

  constructor(options: { db: Db; pool: pg.Pool; limits: LimitValues; log: Logger }) {
    const { db, pool, limits, log } = options
    this.#db = db
    this.#pool = pool
    this.#limits = limits
    const warn = (error: unknown): void => log.warn({ err: error }, 'stored bytes were not counted')
    this.#loops = [every(FLUSH_MS, () => this.flush(), warn), every(REFRESH_MS, () => this.refresh(), warn)]
  }

  /** Counts stored bytes of a device. */
  add(deviceId: string, kind: keyof Counts, bytes: number): void {
    const counts = this.#counts.get(deviceId)
    if (counts) counts[kind] += bytes
    else this.#counts.set(deviceId, { eventBytes: 0, changeBytes: 0, [kind]: bytes })
  }

  /**
   * Compares the last sums of the device's project and organization with their limits. Returns the total that is over its limit;
   * undefined if neither is.
   */
  reached({ projectId, organizationId }: WriteSubject): TotalReached | undefined {
    const projectBytes = this.#projectBytes.get(projectId) ?? 0
    const maxProject = this.#limits['project-bytes']
    if (projectBytes > maxProject) return { limit: 'project-bytes', max: maxProject, found: projectBytes }
    return this.#reachedBy(organizationId)
  }

  /** Throws `LimitReached` when the last sum of an organization is over its limit. */
  requireOrganizationRoom(organizationId: string): void {
    const reached = this.#reachedBy(organizationId)
    if (!reached) return
    const remedy = 'Delete devices, packages or versions that are not used any more, then wait 10 minutes.'
    throw new LimitReached({ ...reached, subject: { organizationId }, remedy })
  }

  #reachedBy(organizationId: string): (TotalReached & { limit: 'organization-bytes' }) | undefined {
    const found = this.#organizationBytes.get(organizationId) ?? 0
    const max = this.#limits['organization-bytes']
    return found > max ? { limit: 'organization-bytes', max, found } : undefined
  }

  /** Adds the counts to the database. Counts of a failed statement are kept for the next flush. */
  async flush(): Promise<void> {
    const ids = [...this.#counts.keys()].sort()
    for (let from = 0; from < ids.length; from += DEVICES_PER_STATEMENT) {
      const some = ids.slice(from, from + DEVICES_PER_STATEMENT)
      const taken = some.map(id => this.#counts.get(id)!)
      for (const id of some) this.#counts.delete(id)
      try {
        await this.#pool.query(ADD_STORED, [
          some,
          taken.map(({ eventBytes }) => eventBytes),
          taken.map(({ changeBytes }) => changeBytes),
        ])
      } catch (error) {
        for (const [at, id] of some.entries()) {
          this.add(id, 'eventBytes', taken[at]!.eventBytes)
          this.add(id, 'changeBytes', taken[at]!.changeBytes)
        }
        throw error
      }
    }
  }

  /** Reads the sums of all projects and repositories. */
  async refresh(): Promise<void> {
    const { rows } = await sql<{ project_id: string | null; organization_id: string; bytes: number }>`
      select project_id, organization_id, bytes from project_stored_bytes join project using (project_id)
      union all
      select null, organization_id, metadata_bytes from repository_stored_bytes join repository using (repository_id)`.execute(
      this.#db,
    )
    const organizationBytes = new Map<string, number>()
    for (const row of rows)
      organizationBytes.set(
        row.organization_id,
        (organizationBytes.get(row.organization_id) ?? 0) + row.bytes,
      )
    this.#projectBytes = new Map(
      rows.flatMap(({ project_id, bytes }) => (project_id === null ? [] : [[project_id, bytes]])),
    )
    this.#organizationBytes = organizationBytes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const loop of this.#loops) await loop[Symbol.asyncDispose]()
    await this.flush().catch(() => {})
  }
}

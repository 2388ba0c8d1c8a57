import { waitUpTo } from '@muster/concurrency'
import { sql } from 'kysely'
import { countSharedIdentities } from '../../link/gateway/shared-identity.ts'
import { readSealing } from '../../platform/audit/sealing.ts'
import { type LastBackup, readLastBackup } from '../../platform/backup/last-backup.ts'
import { stateOfNodes } from '../../platform/backup/last-backup-file.ts'
import { runningNodes } from '../../platform/cluster/node.ts'
import { runBrief } from '../../platform/database/client/brief.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { jobKinds } from '../../platform/jobs/kinds.ts'
import { HAS_FAILED } from '../software/index.ts'
import { readNodes as readNodeFacts, readSilentNodes } from './health.ts'

/** Maximum number of projects that have separate values. The values of all other projects are added up. */
export const MAX_NAMED_PROJECTS = 200
/** Time for which the values are kept, in milliseconds: the usual interval of scrapes. */
const KEPT_MS = 15_000
/** Longest time that a scrape waits for new values, in milliseconds. Later it gets the previous values. */
const WAIT_MS = 2_000

/** Device counts of a project. If `projectId` is null, they are the sums of all projects beyond `MAX_NAMED_PROJECTS`. */
type ProjectValues = {
  projectId: string | null
  name: string | null
  connected: number
  disconnected: number
  error: number
  updateFailed: number
}
type JobValues = {
  job: string
  waiting: number
  running: number
  failed: number
  oldestSecs: number
  succeededAtSecs: number | null
}
type StorageValues = { blobBytes: number; removals: number; databaseBytes: number }
type SealValues = { sealedAtSecs: number | undefined; isIntact: boolean | undefined; unsealedAgeSecs: number }
type BackupValues = {
  last: LastBackup | undefined
  /** Undefined where no node can check the file. */
  isFileIntact: boolean | undefined
}
type NodeValues = { alive: number; silent: number }

/** Values of the whole instance. A part that has never been read is undefined. */
export type Values = {
  projects?: ProjectValues[]
  jobs?: JobValues[]
  storage?: StorageValues
  seals?: SealValues
  nodes?: NodeValues
  backup?: BackupValues
  /** Devices whose identity several machines use. */
  sharedIdentities?: number
}
/** Name of a part of the values. */
export type ValuesPart = keyof Values

const READS: { [Part in ValuesPart]: (db: Db) => Promise<NonNullable<Values[Part]>> } = {
  projects: readProjects,
  jobs: readJobs,
  storage: readStorage,
  seals: readSeals,
  nodes: readNodes,
  backup: readBackup,
  sharedIdentities: countSharedIdentities,
}

/**
 * Values of the whole instance for metrics. `read` gets them from the database, one part after another with 2 s for each part, and keeps
 * them for 15 s.
 */
export class InstanceValues {
  readonly #db: Db
  readonly #keptMs: number
  readonly #onFailure: (part: ValuesPart) => void
  readonly #values: Values = {}
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  /** `onFailure` is called for each part that could not be read in time. */
  constructor(db: Db, onFailure: (part: ValuesPart) => void, keptMs = KEPT_MS) {
    this.#db = db
    this.#onFailure = onFailure
    this.#keptMs = keptMs
  }

  /** Resolves to the values within 2 s. Never rejects. */
  async read(): Promise<Values> {
    if (performance.now() - this.#readAtMs >= this.#keptMs)
      this.#reading ??= this.#readAll().finally(() => {
        this.#reading = undefined
      })
    if (this.#reading) await waitUpTo(WAIT_MS, this.#reading)
    return this.#values
  }

  async #readAll(): Promise<void> {
    for (const part of Object.keys(READS) as ValuesPart[]) await this.#readPart(part)
    this.#readAtMs = performance.now()
  }

  async #readPart<Part extends ValuesPart>(part: Part): Promise<void> {
    try {
      this.#values[part] = await runBrief(this.#db, new AbortController().signal, READS[part])
    } catch {
      this.#onFailure(part)
    }
  }
}

/** Device counts of the largest projects, and the sums of all others. Counts by state read an index of the devices in that state. */
async function readProjects(db: Db): Promise<ProjectValues[]> {
  const { rows } = await sql<ProjectValues>`
    with total as (
      select project_id, sum(devices)::bigint as devices from project_device_count group by project_id
    ), connected as (
      select project_id, count(*) as devices from device where is_connected group by project_id
    ), error as (
      select project_id, count(*) as devices from device where health = 'error' and is_connected group by project_id
    ), failed as (
      select d.project_id, count(*) as devices from device_update u join device d using (device_id)
       where ${HAS_FAILED} group by d.project_id
    ), ranked as (
      select p.project_id, p.name, coalesce(t.devices, 0) as devices, coalesce(c.devices, 0) as connected,
             coalesce(e.devices, 0) as error, coalesce(f.devices, 0) as failed,
             row_number() over (order by t.devices desc nulls last, p.project_id) <= ${MAX_NAMED_PROJECTS} as is_named
        from project p
        left join total t using (project_id) left join connected c using (project_id)
        left join error e using (project_id) left join failed f using (project_id)
    )
    select case when is_named then project_id end as "projectId", case when is_named then name end as name,
           sum(connected)::float8 as connected, greatest(sum(devices - connected), 0)::float8 as disconnected,
           sum(error)::float8 as error, sum(failed)::float8 as "updateFailed"
      from ranked group by 1, 2`.execute(db)
  return rows
}

/** Jobs of every kind that the hub has. */
async function readJobs(db: Db): Promise<JobValues[]> {
  const { rows } = await sql<JobValues>`
    select k.job,
           count(*) filter (where j.state in ('created', 'retry'))::int as waiting,
           count(*) filter (where j.state = 'active')::int as running,
           count(*) filter (where j.state = 'failed' and j.completed_on > now() - interval '24 hours')::int as failed,
           greatest(coalesce(extract(epoch from now() - min(j.start_after)
             filter (where j.state in ('created', 'retry'))), 0), 0)::float8 as "oldestSecs",
           extract(epoch from max(j.completed_on) filter (where j.state = 'completed'))::float8 as "succeededAtSecs"
      from unnest(${Object.keys(jobKinds())}::text[]) as k (job)
      left join pgboss.job j on j.name = k.job
       and (j.state in ('created', 'retry', 'active') or j.completed_on > now() - interval '48 hours')
     group by k.job order by k.job`.execute(db)
  return rows
}

async function readStorage(db: Db): Promise<StorageValues> {
  const { rows } = await sql<StorageValues>`
    select (select coalesce(sum(size_bytes), 0)::float8 from asset where status = 'Available') as "blobBytes",
           (select count(*)::int from blob_removal) as removals,
           pg_database_size(current_database())::float8 as "databaseBytes"`.execute(db)
  return rows[0]!
}

async function readSeals(db: Db): Promise<SealValues> {
  const { newest, verified } = await readSealing(db, false)
  const { rows } = await sql<{ unsealedAgeSecs: number }>`
    select greatest(coalesce(extract(epoch from now() - least(
             (select min(created_at) from audit_action where seal_no is null and status <> 'Pending'),
             (select min(created_at) from audit_event where seal_no is null))), 0), 0)::float8 as "unsealedAgeSecs"`.execute(
    db,
  )
  return {
    sealedAtSecs: newest && Date.parse(newest.sealedAt) / 1000,
    isIntact: verified?.isIntact,
    unsealedAgeSecs: rows[0]!.unsealedAgeSecs,
  }
}

async function readBackup(db: Db): Promise<BackupValues> {
  const last = await readLastBackup(db)
  const { state } = (last && stateOfNodes(last, await readNodeFacts(db))) ?? {}
  return {
    last,
    isFileIntact: state === undefined || state === 'Unseen' ? undefined : state === 'Present',
  }
}

async function readNodes(db: Db): Promise<NodeValues> {
  return { alive: (await runningNodes(db)).length, silent: (await readSilentNodes(db)).length }
}

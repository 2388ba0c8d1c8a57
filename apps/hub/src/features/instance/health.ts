import { type HandlerOutput, NodeFacts } from '@muster/actions'
import { sql } from 'kysely'
import { readSealing } from '../../platform/audit/sealing.ts'
import { runningNodes } from '../../platform/cluster/node.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { wireTime } from '../../platform/runtime/times.ts'

type Health = HandlerOutput<'instance_GetHealth'>
/** Type of the value of one part of the health report (`Health`), for example of `nodes`. */
type Value<Part extends keyof Health> = NonNullable<
  Health[Part] extends { value?: infer Found } | undefined ? Found : never
>

const DAY_MS = 24 * 60 * 60 * 1000
/** Time after which the hub no longer reports a node that another node marked as dead, in hours: a day. */
const EVICTED_HOURS = 24

/** Number of administrators and of organizations. */
export async function readPeople(db: Db): Promise<Value<'people'>> {
  return db
    .selectNoFrom(({ selectFrom, fn }) => [
      selectFrom('user')
        .where('is_admin', '=', true)
        .select(fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('administrators'),
      selectFrom('organization')
        .select(fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('organizations'),
    ])
    .executeTakeFirstOrThrow()
}

/** Number of devices, and of those that are connected. */
export async function readDevices(db: Db): Promise<{ total: number; connected: number }> {
  const { rows } = await sql<{ total: number; connected: number }>`
    select (select coalesce(sum(devices), 0)::float8 from project_device_count) as total,
           (select count(*)::int from device where is_connected) as connected`.execute(db)
  return rows[0]!
}

/** Time at which the first hub started on this database. A restore begins it anew. */
export async function readInstanceStart(db: Db): Promise<string> {
  const { startedAt } = await db
    .selectFrom('migration')
    .select(({ fn }) => fn.min('applied_at').$notNull().as('startedAt'))
    .executeTakeFirstOrThrow()
  return wireTime(startedAt)
}

/** Running nodes with their last reports. A report in another format, by a newer release, counts as absent. */
export async function readNodes(db: Db): Promise<Value<'nodes'>> {
  const nodes = await runningNodes(db)
  return nodes.map(({ node_id, name, uptimeSecs, facts }) => ({
    nodeId: node_id,
    name,
    uptimeSecs: Math.max(0, Math.floor(uptimeSecs)),
    facts: NodeFacts.safeParse(facts).data,
  }))
}

/** Nodes that other nodes marked as dead in the last day, unless a node of the same name runs. */
export async function readSilentNodes(db: Db): Promise<{ name: string; lastHeartbeat: Date }[]> {
  const { rows } = await sql<{ name: string; lastHeartbeat: Date }>`
    select name, max(last_heartbeat) as "lastHeartbeat" from cluster_node n
     where evicted_at > now() - make_interval(hours => ${EVICTED_HOURS})
       and not exists (select from cluster_node r where r.name = n.name and r.left_at is null)
     group by name order by name limit 50`.execute(db)
  return rows
}

/** Events of the last 24 h in intervals of 15 minutes. The newest interval has not ended, so it counts in the sum but has no rate. */
export async function readEvents(db: Db, nodes: Value<'nodes'>): Promise<Value<'events'>> {
  // Counts are kept for 8 days, so an old hub has some from before the 24 hours unless it was silent.
  const { rows } = await sql<{ startsAt: Date; count: number; isRunning: boolean; isFirst: boolean }>`
    with bins as (
      select generate_series(date_bin('15 minutes', now(), 'epoch') - interval '24 hours',
                             date_bin('15 minutes', now(), 'epoch'), interval '15 minutes') as starts_at
    )
    select b.starts_at as "startsAt", coalesce(r.event_count, 0)::float8 as count,
           b.starts_at = date_bin('15 minutes', now(), 'epoch') as "isRunning",
           b.starts_at = (select min(starts_at) from event_rate) as "isFirst"
      from bins b left join event_rate r using (starts_at) order by b.starts_at`.execute(db)
  const first = rows.slice(1).find(({ isFirst }) => isFirst)
  return {
    perSec: nodes.reduce((sum, { facts }) => sum + (facts?.eventsPerSec ?? 0), 0),
    dayCount: rows.reduce((sum, { count }) => sum + count, 0),
    recordedSince: first && wireTime(first.startsAt),
    bins: rows
      .filter(({ isRunning }) => !isRunning)
      .map(({ startsAt, count }) => ({ startsAt: wireTime(startsAt), perSec: count / (15 * 60) })),
  }
}

/** Current size of the database and of its large parts, its size on each of the last 30 days, and its connections. */
export async function readDatabase(tx: Tx): Promise<Value<'database'>> {
  const { rows } = await sql<{
    version: string
    sizeBytes: number
    connections: number
    maxConnections: number
  }>`select split_part(current_setting('server_version'), ' ', 1) as version,
            pg_database_size(current_database())::float8 as "sizeBytes",
            (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
            current_setting('max_connections')::int as "maxConnections"`.execute(tx)
  const parts = await sql<{ name: 'Events' | 'Audit' | 'History'; sizeBytes: number }>`
    select p.name, sum(pg_total_relation_size(c.oid))::float8 as "sizeBytes"
      from (values ('Events', '^device_event'), ('Audit', '^audit_'),
                   ('History', '^(device_property_change|device_certificate_change|device_connection)')) as p (name, pattern)
      join pg_class c on c.relname ~ p.pattern and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
     group by p.name order by 2 desc`.execute(tx)
  const days = await tx
    .selectFrom('database_size')
    .where('sampled_on', '>', sql<Date>`current_date - 30`)
    .select([sql<string>`sampled_on::text`.as('day'), sql<number>`size_bytes::float8`.as('sizeBytes')])
    .orderBy('sampled_on')
    .execute()
  return { ...rows[0]!, parts: parts.rows, days, growthBytesPerDay: growthOf(days) }
}

/** Growth of the database in the last 7 days, in bytes a day; undefined with fewer than two samples. */
function growthOf(days: { day: string; sizeBytes: number }[]): number | undefined {
  const last = days.at(-1)
  if (!last) return undefined
  const first = days.find(({ day }) => Date.parse(last.day) - Date.parse(day) <= 7 * DAY_MS)!
  const count = (Date.parse(last.day) - Date.parse(first.day)) / DAY_MS
  return count > 0 ? (last.sizeBytes - first.sizeBytes) / count : undefined
}

/** The newest seal and the result of the last verification. `problem` describes the difference that the verification found, if any. */
export async function readSeals(db: Db): Promise<{ value: Value<'seals'>; problem: string | undefined }> {
  const { newest, verified } = await readSealing(db, true)
  return {
    value: {
      sealNo: newest?.sealNo,
      verifiedAt: verified?.verifiedAt,
      isIntact: verified?.isIntact,
    },
    problem: verified?.problem,
  }
}

/** Stores the size of the database on this day. Removes sizes older than 400 days, and event counts older than 8 days. */
export async function sampleDatabaseSize(db: Db): Promise<void> {
  await sql`
    insert into database_size (sampled_on, size_bytes) values (current_date, pg_database_size(current_database()))
    on conflict (sampled_on) do update set size_bytes = excluded.size_bytes`.execute(db)
  await sql`delete from database_size where sampled_on < current_date - 400`.execute(db)
  await sql`delete from event_rate where starts_at < now() - interval '8 days'`.execute(db)
}

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { sqlState } from '../database/client/errors.ts'
import { isUnfinished, markUnfinished } from '../database/server/marks.ts'
import { createTables } from '../database/server/migrate.ts'
import { installQueue } from '../jobs/install.ts'
import type { Logger } from '../runtime/log.ts'
import { BackupError } from './backup-error.ts'
import { nameOf, type Part, type RowsHeader } from './parts.ts'
import { columnsOf, tableOf } from './snapshot.ts'

/** Table that holds the rows of pg-boss while they are converted to the columns of its present version. */
const JOBS = 'copied_job'

/**
 * Throws `BackupError` if `prepareTarget` would: if another command fills the database, or if it is neither empty nor left by a killed
 * restore or move. Keeps hubs and other commands off the database until the session ends. `place` names the database in messages.
 */
export async function checkTarget(client: pg.Client, place: string): Promise<void> {
  // Hubs and other commands take this lock before they change tables.
  const { rows } = await client.query<{ isFree: boolean }>(
    `select pg_try_advisory_lock(hashtext('muster.migrations')) as "isFree"`,
  )
  if (!rows[0]!.isFree)
    throw new BackupError(
      `${place}: found a hub that starts or another command that works on the database, expected none: try again when it has ended.`,
    )
  if (!(await isUnfinished(client))) await requireEmpty(client, place)
}

async function requireEmpty(client: pg.Client, place: string): Promise<void> {
  const { rows } = await client.query<{ name: string; count: number }>(
    `select min(o.name) as name, count(*)::int as count
       from (select oid::regclass::text as name, 'pg_class'::regclass as class, oid, relnamespace as namespace
               from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
             union all
             select oid::regprocedure::text, 'pg_proc'::regclass, oid, pronamespace from pg_proc) o
       join pg_namespace n on n.oid = o.namespace
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and not exists (select from pg_depend d where d.classid = o.class and d.objid = o.oid and d.deptype = 'e')`,
  )
  const { name, count } = rows[0]!
  if (count > 0)
    throw new BackupError(
      `${place}: found a database with ${count} tables, views and functions, such as ${name}, expected an empty one.`,
    )
}

/**
 * Makes an empty database ready for `loadTables`: a mark keeps hubs from starting on it, and the job queue is installed. Removes what a
 * killed restore or move has left. Throws `BackupError` as `checkTarget` does.
 */
export async function prepareTarget(client: pg.Client, place: string, log: Logger): Promise<void> {
  await checkTarget(client, place)
  if (await isUnfinished(client)) {
    await removeUnfinished(client)
    await requireEmpty(client, place)
  }
  await markUnfinished(client)
  try {
    await installQueue(client, log)
  } catch (error) {
    await removeUnfinished(client).catch(() => {})
    throw error
  }
}

/**
 * Removes everything from a database that a restore or a move has begun to fill. It was empty before, so everything is theirs. All at once,
 * so that a killed removal keeps the mark.
 */
export async function removeUnfinished(client: pg.Client): Promise<void> {
  await client.query('begin')
  try {
    await client.query('drop schema if exists pgboss cascade')
    const { rows } = await client.query<{ text: string }>(
      `select format('drop table if exists %s cascade', oid::regclass) as text
         from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
       union all
       select format('drop routine if exists %s cascade', p.oid::regprocedure) from pg_proc p
        where p.pronamespace = current_schema()::regnamespace
          and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`,
    )
    for (const { text } of rows) await client.query(text)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/**
 * Creates the tables of the named migrations and fills them, in a transaction of the caller. Parts of other kinds are left to the caller's
 * iterator. Foreign keys are added last, so that PostgreSQL checks all rows. Throws `BackupError` if the rows do not fit, and
 * `MigrationError` if they come from a newer release. Resolves to the number of rows.
 */
export async function loadTables(
  client: pg.Client,
  migrations: string[],
  parts: AsyncIterable<Part>,
  onOther: (part: Part) => Promise<void> = async () => {},
): Promise<number> {
  await createTables(client, migrations)
  const restoreChecks = await suspendChecks(client)
  let total = 0
  for await (const part of parts) {
    const { header } = part
    if (header.kind === 'table' || header.kind === 'jobs') total += await load(client, header, part)
    else await onOther(part)
  }
  try {
    await restoreChecks()
  } catch (cause) {
    throw refusal('its rows', cause)
  }
  return total
}

async function load(client: pg.Client, header: RowsHeader, part: Part): Promise<number> {
  try {
    await createTarget(client, header)
    const target = header.kind === 'jobs' ? JOBS : tableOf(header)
    const copy = client.query(copyFrom(`copy ${target} (${columnsOf(header)}) from stdin`))
    // A connection that breaks after a failure would otherwise end the process.
    copy.on('error', () => {})
    await pipeline(Readable.from(part.body), copy)
    const expected = part.rows()
    if (copy.rowCount !== expected)
      throw new BackupError(
        `The backup is damaged: found ${copy.rowCount} rows of ${nameOf(header)}, expected ${expected}.`,
      )
    if (header.kind === 'jobs') await insertJobs(client, header.columns)
    return copy.rowCount
  } catch (error) {
    throw refusal(nameOf(header), error)
  }
}

function refusal(what: string, error: unknown): unknown {
  if (sqlState(error) === undefined) return error
  return new BackupError(
    `The rows cannot be stored: PostgreSQL refused ${what}: ${(error as Error).message}.`,
    {
      cause: error,
    },
  )
}

/** Creates the partition of a day, or the table for jobs. Throws `BackupError` for a table that migrations do not create. */
async function createTarget(client: pg.Client, header: RowsHeader): Promise<void> {
  if (header.kind === 'jobs') {
    const columns = header.columns.map(column => `${pg.escapeIdentifier(column)} text`)
    await client.query(`create table ${JOBS} (${columns.join(', ')})`)
    return
  }
  const { name, partition } = header
  if (partition) {
    const parent = pg.escapeIdentifier(partition.of)
    await client.query(`create table ${tableOf(header)} partition of ${parent} ${partition.bounds}`)
    return
  }
  const { rows } = await client.query(
    "select from pg_class where relname = $1 and relnamespace = current_schema()::regnamespace and relkind = 'r'",
    [name],
  )
  if (rows.length === 0)
    throw new BackupError(
      `Found the table ${name}, which is none of the hub's, expected the database of a hub.`,
    )
}

/** Moves the copied jobs into pg-boss's table, with the columns that both versions have. Jobs of kinds that are gone are left out. */
async function insertJobs(client: pg.Client, columns: string[]): Promise<void> {
  const { rows } = await client.query<{ name: string; value: string }>(
    `select quote_ident(attname) as name, format('%I::%s', attname, format_type(atttypid, atttypmod)) as value
       from pg_attribute where attrelid = 'pgboss.job'::regclass and attnum > 0 and not attisdropped and attname = any ($1)`,
    [columns],
  )
  await client.query(
    `insert into pgboss.job (${rows.map(({ name }) => name).join(', ')})
     select ${rows.map(({ value }) => value).join(', ')} from ${JOBS} where name in (select name from pgboss.queue)`,
  )
  await client.query(`drop table ${JOBS}`)
}

/**
 * Removes foreign keys and switches triggers off while rows are copied: the counts that triggers keep are among the copied rows. The result
 * brings both back.
 */
async function suspendChecks(client: pg.Client): Promise<() => Promise<void>> {
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`,
  )
  const { rows: triggers } = await client.query<{ table: string }>(
    `select distinct tgrelid::regclass::text as table from pg_trigger t join pg_class c on c.oid = tgrelid
      where not tgisinternal and c.relnamespace = current_schema()::regnamespace`,
  )
  for (const { table, name } of keys) await client.query(`alter table ${table} drop constraint ${name}`)
  for (const { table } of triggers) await client.query(`alter table ${table} disable trigger user`)
  return async () => {
    for (const { table } of triggers) await client.query(`alter table ${table} enable trigger user`)
    for (const { table, name, definition } of keys)
      await client.query(`alter table ${table} add constraint ${name} ${definition}`)
  }
}

/** Gathers statistics for the first queries. A failure does no harm, because autovacuum gathers them later. */
export async function analyze(client: pg.Client): Promise<void> {
  await client.query('analyze').catch(() => {})
}

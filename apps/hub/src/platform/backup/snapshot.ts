import { isDeepStrictEqual } from 'node:util'
import { waitUpTo } from '@muster/concurrency'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { sqlState } from '../database/client/errors.ts'
import { refuseMarked } from '../database/server/marks.ts'
import { lockTables, unlockTables } from '../database/server/table-lock.ts'
import { BackupError } from './backup-error.ts'
import type { Part, RowsHeader } from './parts.ts'

/** Attempts to lock all tables. The list of each attempt has the partitions that were created or dropped meanwhile. */
const MAX_ATTEMPTS = 5
/** Time that a lock may take, in milliseconds: a running migration holds the tables. */
const LOCK_TIMEOUT_MS = 30_000
/** Time in which a connection ends, in milliseconds, before it is cut. */
const CLOSE_MS = 1_000
const UNDEFINED_TABLE = '42P01'

/** Consistent snapshot of a database, in a transaction of `client`. */
export type Snapshot = {
  client: pg.Client
  /** Migrations of the database in their order. */
  migrations: string[]
  databaseBytes: number
  /** Derived from the instance key (`platform/cluster/shared-key.ts`); null if no hub has stored it. */
  keyMark: string | null
  /** Tables, partitions and jobs in the order in which they are read. */
  parts: RowsHeader[]
}

/** Connects to a database for a copy of all rows, until disposal of `stack`. The session has no time limit for statements. */
export async function connectForCopy(
  connection: pg.PoolConfig,
  stack: AsyncDisposableStack,
): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, application_name: 'muster copy', keepAlive: true })
  // A broken connection makes the statement fail. Without a listener, the client's `error` event would also end the process.
  client.on('error', () => {})
  await client.connect()
  stack.defer(async () => {
    // After a failure, unread rows keep the connection from closing.
    await waitUpTo(CLOSE_MS, client.end())
    client.connection.stream.destroy()
  })
  // Rows are copied as text, so both ends write times and numbers in the same way. A client that vanished is noticed after 2 min, so
  // that its locks do not stay.
  await client.query(
    `set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set extra_float_digits = 1;
     set bytea_output = 'hex'; set client_encoding = 'UTF8'; set statement_timeout = 0; set lock_timeout = ${LOCK_TIMEOUT_MS};
     set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0; set tcp_keepalives_idle = 60; set tcp_keepalives_interval = 15;
     set tcp_keepalives_count = 4`,
  )
  return client
}

/**
 * Begins a transaction that sees one state of the database until `endSnapshot`, and locks all tables against changes of their structure.
 * Other sessions go on reading and writing, and migrations wait. Throws `BackupError` if the database is none of a hub, and `MigrationError` if it was moved.
 */
export async function takeSnapshot(client: pg.Client): Promise<Snapshot> {
  const { rows } = await client.query<{ isHub: boolean }>(
    `select to_regclass('migration') is not null and to_regclass('pgboss.job') is not null as "isHub"`,
  )
  if (!rows[0]!.isHub)
    throw new BackupError(
      'Found a database without the tables of a hub, expected one on which a hub has run.',
    )
  await refuseMarked(client)
  await lockTables(client, LOCK_TIMEOUT_MS)
  for (let attempt = 1; ; attempt++) {
    const before = await listParts(client)
    await client.query('begin isolation level repeatable read read only')
    try {
      // The first query takes the snapshot. A snapshot from before the locks could see a table that was rewritten meanwhile as empty.
      await client.query(`lock table ${before.map(tableOf).join(', ')} in access share mode`)
      const parts = await listParts(client)
      if (!isDeepStrictEqual(parts, before))
        throw new BackupError('Found tables that change all the time: run the command again.')
      return { client, parts, ...(await readFacts(client)) }
    } catch (error) {
      await client.query('rollback')
      const mayHelp = error instanceof BackupError || sqlState(error) === UNDEFINED_TABLE
      if (!mayHelp || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Ends the transaction and the locks of `takeSnapshot`. */
export async function endSnapshot({ client }: Pick<Snapshot, 'client'>): Promise<void> {
  await client.query('commit')
  await unlockTables(client)
}

async function readFacts(
  client: pg.Client,
): Promise<Pick<Snapshot, 'migrations' | 'databaseBytes' | 'keyMark'>> {
  const { rows } = await client.query<Pick<Snapshot, 'migrations' | 'databaseBytes' | 'keyMark'>>(
    `select array(select name from migration order by name) as migrations,
            pg_database_size(current_database())::float8 as "databaseBytes",
            (select value #>> '{}' from instance_setting where key = 'instance-key') as "keyMark"`,
  )
  return rows[0]!
}

/** Tables of the hub, without those of extensions, and the jobs. Generated columns are left out, because PostgreSQL computes them. */
async function listParts(client: pg.Client): Promise<RowsHeader[]> {
  const { rows } = await client.query<{
    name: string
    parent: string | null
    bounds: string | null
    columns: string[]
    isJobs: boolean
  }>(
    `select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bounds,
            c.relnamespace <> current_schema()::regnamespace as "isJobs",
            array(select attname::text from pg_attribute
                   where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns
       from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
      where (c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace or c.oid = to_regclass('pgboss.job'))
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
      order by "isJobs", c.relname`,
  )
  return rows.map(({ name, parent, bounds, columns, isJobs }) => {
    if (isJobs) return { kind: 'jobs', columns }
    // All other partitions are created by migrations.
    const isDay = parent !== null && bounds !== null && /_\d{8}$/.test(name)
    return { kind: 'table', name, columns, ...(isDay && { partition: { of: parent, bounds } }) }
  })
}

/** Reads the rows of a snapshot, part by part. The caller calls `endSnapshot`. */
export async function* snapshotParts({ client, parts }: Snapshot): AsyncGenerator<Part> {
  for (const header of parts) {
    // Rows of partitioned tables can be copied by a query only.
    const source =
      header.kind === 'jobs'
        ? `(select ${columnsOf(header)} from ${tableOf(header)})`
        : `${tableOf(header)} (${columnsOf(header)})`
    let rowCount = 0
    const body = (async function* () {
      const copy = client.query(copyTo(`copy ${source} to stdout`))
      // A connection that breaks after the reader has given up would otherwise end the process.
      copy.on('error', () => {})
      yield* copy as AsyncIterable<Buffer>
      // The number of rows arrives after the last row. It is there when the next statement runs.
      await client.query('select')
      rowCount = copy.rowCount
    })()
    yield { header, body, rows: () => rowCount }
  }
}

/** Name of the table of a part for statements. */
export function tableOf(header: RowsHeader): string {
  return header.kind === 'jobs' ? 'pgboss.job' : pg.escapeIdentifier(header.name)
}

/** Columns of a part for statements. */
export function columnsOf({ columns }: RowsHeader): string {
  return columns.map(column => pg.escapeIdentifier(column)).join(', ')
}

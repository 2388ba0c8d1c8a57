import type pg from 'pg'
import { MigrationError } from './migration-error.ts'

/** Row of `instance_setting` with the address to which the database was moved. */
const MOVED = 'moved-to'

/** Connection, or a pool of connections. */
type Queries = Pick<pg.ClientBase, 'query'>

/** Throws `MigrationError` if the database was moved elsewhere, or if a restore or a move into it was not finished. */
export async function refuseMarked(client: Queries): Promise<void> {
  if (await isUnfinished(client))
    throw new MigrationError(
      'The database holds a restore or a move that was not finished: run that command again, which begins anew.',
    )
  const place = await movedTo(client)
  if (place !== undefined)
    throw new MigrationError(`The database was moved to ${place}: set MUSTER_DATABASE_URL to that database.`)
}

/** Whether a restore or a move into this database was not finished. */
export async function isUnfinished(client: Queries): Promise<boolean> {
  return exists(client, 'unfinished_copy')
}

/** Marks an empty database with a table `unfinished_copy`, so that no hub starts on it before `markFinished`. */
export async function markUnfinished(client: pg.ClientBase): Promise<void> {
  await client.query('create table unfinished_copy (started_at timestamptz not null default now())')
}

/** Removes the mark of `markUnfinished`. */
export async function markFinished(client: pg.ClientBase): Promise<void> {
  await client.query('drop table unfinished_copy')
}

/** Address to which the database was moved, without a password; undefined if it was not. */
export async function movedTo(client: Queries): Promise<string | undefined> {
  if (!(await exists(client, 'instance_setting'))) return undefined
  const { rows } = await client.query<{ value: string }>(
    'select value from instance_setting where key = $1',
    [MOVED],
  )
  return rows[0]?.value
}

/** Marks a database whose rows are in another one. `place` is its address without a password. */
export async function markMoved(client: pg.ClientBase, place: string): Promise<void> {
  await client.query('insert into instance_setting (key, value) values ($1, $2)', [
    MOVED,
    JSON.stringify(place),
  ])
}

/** Removes the mark of `markMoved`, for example from a copy of such a database. */
export async function unmarkMoved(client: pg.ClientBase): Promise<void> {
  await client.query('delete from instance_setting where key = $1', [MOVED])
}

async function exists(client: Queries, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    table,
  ])
  return rows[0]!.exists
}

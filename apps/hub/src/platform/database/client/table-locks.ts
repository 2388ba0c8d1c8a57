import { type Db, select } from './connection.ts'

/** Modes of locks of tables that conflict with reading or writing rows. */
const MODES = ['AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock']

const LOCKED = `
  select exists (
    select from pg_locks l join pg_class c on c.oid = l.relation
     where l.locktype = 'relation' and l.mode = any($1) and c.relkind in ('r', 'p')
       and l.database = (select oid from pg_database where datname = current_database())
  ) as "isLocked"`

/**
 * Whether a session holds, or waits for, a lock of a whole table that holds up other statements. The error of a statement that got no lock
 * does not say whether it waited for a table or a row.
 */
export async function hasLockedTable(db: Db): Promise<boolean> {
  const [row] = await select<{ isLocked: boolean }>(db, LOCKED, [MODES])
  return row!.isLocked
}

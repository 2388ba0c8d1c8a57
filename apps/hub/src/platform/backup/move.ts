import type pg from 'pg'
import { runningNodes } from '../cluster/node.ts'
import { type Config, requireDatabaseUrl } from '../config/config.ts'
import { openDatabase } from '../database/client/connection.ts'
import type { DatabaseAccess } from '../database/server/embedded.ts'
import { checkExternalDatabase, externalConnection } from '../database/server/external.ts'
import { instanceAccess } from '../database/server/instance-access.ts'
import { isUnfinished, markFinished, markMoved, movedTo, unmarkMoved } from '../database/server/marks.ts'
import { jobKinds } from '../jobs/kinds.ts'
import type { Logger } from '../runtime/log.ts'
import { BackupError } from './backup-error.ts'
import { analyze, loadTables, prepareTarget, removeUnfinished } from './load.ts'
import { abortable, nameOf, type RowsHeader } from './parts.ts'
import { recordCommandEvent } from './record-event.ts'
import { columnsOf, connectForCopy, endSnapshot, snapshotParts, tableOf, takeSnapshot } from './snapshot.ts'

/** Result of a move of the database. */
export type MoveReport = {
  /** Address of the new database without a password. */
  to: string
  /** Number of copied rows; undefined if the command only finished a move that was killed after the copy. */
  rowCount: number | undefined
}

/**
 * Copies the database of the configured instance into the empty database `to`, compares both by counts and hashes, and marks the source, so
 * that no hub starts on it any more. Throws `BackupError` if a node is alive, and `ConfigError` if `to` cannot be used. After a failure the
 * source is as before. A killed move leaves marks; the same command finishes it or begins anew.
 */
export async function moveDatabase(
  config: Pick<Config, 'dataDir' | 'databaseUrl'>,
  to: string,
  signal: AbortSignal,
  log: Logger,
): Promise<MoveReport> {
  requireDatabaseUrl('--to', to)
  await checkExternalDatabase(to, '--to')
  const connection = externalConnection(to, '--to')
  const place = placeOf(to)
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await instanceAccess(config, log))
  const from = await connectForCopy(source.access.hub, stack)
  await lockSource(from, source)
  const target = await connectForCopy(connection, stack)

  const moved = await movedTo(from)
  if (moved !== undefined && (moved !== place || !(await isUnfinished(target))))
    throw new BackupError(`The database was moved to ${moved} already.`)
  let rowCount: number | undefined
  if (moved === undefined) {
    rowCount = await copy(from, target, { place, signal, log })
    await markMoved(from, place)
    // A hub looks for the mark after it has stored its node. So it finds the mark, or is found here.
    const node = await runningNode(source)
    if (node !== undefined) {
      await unmarkMoved(from)
      throw runningHub(node)
    }
  }
  // No hub starts on the target before this, and none on the source after `markMoved`. So no two hubs write to different databases.
  await markFinished(target)
  await analyze(target)
  return { to: place, rowCount }
}

async function copy(
  from: pg.Client,
  target: pg.Client,
  { place, signal, log }: { place: string; signal: AbortSignal; log: Logger },
): Promise<number> {
  await prepareTarget(target, '--to', log)
  try {
    const snapshot = await takeSnapshot(from)
    await target.query('begin')
    const rowCount = await loadTables(target, snapshot.migrations, abortable(snapshotParts(snapshot), signal))
    for (const part of snapshot.parts) await compare(from, target, part)
    await recordCommandEvent(target, 'instance_DatabaseMoved', { to: place })
    await target.query('commit')
    await endSnapshot(snapshot)
    return rowCount
  } catch (error) {
    // Without a connection, the mark stays and the next move removes the rest.
    await target
      .query('rollback')
      .then(() => removeUnfinished(target))
      .catch(() => {})
    throw error
  }
}

/** Throws `BackupError` if a table has other rows in the target. */
async function compare(from: pg.Client, target: pg.Client, header: RowsHeader): Promise<void> {
  const [expected, found] = await Promise.all([from, target].map(client => fingerprint(client, header)))
  if (found!.count !== expected!.count || found!.hash !== expected!.hash)
    throw new BackupError(
      `The copy differs: found ${found!.count} rows of ${nameOf(header)} with the hash ${found!.hash}, expected ${expected!.count} with ${expected!.hash}. Nothing was changed.`,
    )
}

/** Number of rows of a table, and a hash that does not depend on their order. */
async function fingerprint(client: pg.Client, header: RowsHeader): Promise<{ count: string; hash: string }> {
  // Columns of jobs differ between versions of pg-boss, and jobs of kinds that are gone are not copied.
  const isJobs = header.kind === 'jobs'
  const columns = isJobs ? 'id, name, state, data' : columnsOf(header)
  const { rows } = await client.query<{ count: string; hash: string }>(
    `select count(*)::text as count, coalesce(sum(hashtextextended(row(${columns})::text, 0)::numeric), 0)::text as hash
       from ${tableOf(header)} ${isJobs ? 'where name = any ($1)' : ''}`,
    isJobs ? [Object.keys(jobKinds())] : [],
  )
  return rows[0]!
}

/** Address of a database without its password. */
function placeOf(url: string): string {
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}

/** Keeps hubs from starting on the source until the session ends, and throws `BackupError` if one runs. */
async function lockSource(
  client: pg.Client,
  source: Awaited<ReturnType<typeof instanceAccess>>,
): Promise<void> {
  const { rows } = await client.query<{ isFree: boolean }>(
    `select pg_try_advisory_lock(hashtext('muster.migrations')) as "isFree"`,
  )
  const node = await runningNode(source)
  if (source.isOfHub || node !== undefined || !rows[0]!.isFree) throw runningHub(node)
}

/** Name of a node that runs on the source; undefined if there is none. */
async function runningNode({ access }: { access: DatabaseAccess }): Promise<string | undefined> {
  await using database = openDatabase(access.hub, () => {})
  const [node] = await runningNodes(database.db)
  return node?.name
}

function runningHub(node: string | undefined): BackupError {
  return new BackupError(
    `Found a running hub${node === undefined ? '' : ` (${node})`} or another command on the database, expected none: stop all nodes first. A killed node counts as running for 20 s.`,
  )
}

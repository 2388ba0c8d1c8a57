import { parseArgs } from 'node:util'
import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../config-error.ts'
import { type Db, openDatabase } from '../database/client/connection.ts'
import { checkExternalDatabase, externalConnection } from '../database/server/external.ts'
import { UsageError } from '../usage-error.ts'
import { shownNodes } from './node.ts'
import { cancelRebalance, releaseSecs, startRebalance } from './rebalance.ts'

const USAGE = 'Usage: muster-hub rebalance [--status | --cancel]'

/**
 * Runs `muster-hub rebalance`: starts a rebalance, ends it with `--cancel`, or prints its progress with `--status`. The command only writes
 * to the database; the running nodes do the work. Throws `UsageError` for wrong arguments, and `ConfigError` without an external database,
 * which several nodes need.
 */
export async function runRebalance(
  words: string[],
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  print: (text: string) => void,
): Promise<void> {
  const { isStatus, isCancel } = readOptions(words)
  if (databaseUrl === undefined)
    throw new ConfigError(
      'MUSTER_DATABASE_URL: found nothing, expected the database that several nodes share: a hub with an embedded database is the only node.',
    )
  await checkExternalDatabase(databaseUrl)
  // The error handler does nothing, because a broken connection also fails the statement that runs on it.
  await using database = openDatabase(externalConnection(databaseUrl), () => {})
  const { db } = database
  if (isStatus) return print(await statusText(db))
  if (isCancel) return print(await cancel(db))
  print(await start(db))
}

function readOptions(words: string[]): { isStatus: boolean; isCancel: boolean } {
  try {
    const flag = { type: 'boolean', default: false } as const
    const { status: isStatus, cancel: isCancel } = parseArgs({
      args: words,
      options: { status: flag, cancel: flag },
    }).values
    if (isStatus && isCancel) throw new Error('found --status and --cancel, expected one of them')
    return { isStatus, isCancel }
  } catch (cause) {
    throw new UsageError(`${(cause as Error).message}. ${USAGE}`, { cause })
  }
}

async function start(db: Db): Promise<string> {
  const { releases, deviceCount } = await db.transaction().execute(async tx => {
    const rebalance = await startRebalance(tx)
    const { releases, deviceCount } = rebalance
    const nodeIds = releases.map(({ nodeId }) => nodeId)
    if (nodeIds.length > 0)
      await recordEvent(tx, { caller: SYSTEM, scope: {} }, 'cluster_RebalanceStarted', {
        nodeIds,
        deviceCount,
      })
    return rebalance
  })
  if (deviceCount === 0) return 'No node has a surplus of devices.\n'
  return [
    ...releases.map(
      ({ name, nodeId, releaseCount, lastsSecs }) =>
        `${name} (${nodeId}) releases ${releaseCount} devices in ${minutes(lastsSecs)}.`,
    ),
    'Devices with a published Nexigon agent stay away for about 60 s, Muster’s own return at once.',
    'muster-hub rebalance --status prints the progress, --cancel ends it.\n',
  ].join('\n')
}

async function cancel(db: Db): Promise<string> {
  const nodeIds = await db.transaction().execute(async tx => {
    const nodeIds = await cancelRebalance(tx)
    if (nodeIds.length > 0)
      await recordEvent(tx, { caller: SYSTEM, scope: {} }, 'cluster_RebalanceCancelled', { nodeIds })
    return nodeIds
  })
  return nodeIds.length === 0 ? 'No node releases devices.\n' : 'The rebalance has ended.\n'
}

async function statusText(db: Db): Promise<string> {
  const lines = (await shownNodes(db)).map(
    ({ name, node_id, connection_count, release_total: total, release_done: done }) => {
      const connections = connection_count ?? 0
      const progress =
        total === null
          ? ''
          : `, released ${done} of ${total}, ${minutes(releaseSecs(total - done, connections))} left`
      return `${name} (${node_id}): ${connections} devices${progress}\n`
    },
  )
  return lines.join('') || 'No node is running.\n'
}

function minutes(secs: number): string {
  return `${Math.ceil(secs / 60)} min`
}

import { type Command, Option } from 'commander'
import { cancelRebalance, releaseSecs, startRebalance } from '../link/links/rebalance.ts'
import { shownNodes } from '../platform/cluster/node.ts'
import { ConfigError } from '../platform/config/config-error.ts'
import type { Db } from '../platform/database/client/connection.ts'
import { SYSTEM } from '../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../platform/pipeline/command-transaction.ts'
import type { CommandLine } from './command-line.ts'
import { NO_CONSOLES, openInstance, quietLog } from './instance-database.ts'

type Options = { status?: boolean; cancel?: boolean; fast?: boolean }

/**
 * Adds `muster-hub rebalance`: starts a rebalance, ends it with `--cancel`, or prints its progress with `--status`. The command only writes
 * to the database; the running nodes do the work. It needs an external database, which several nodes share.
 */
export function addRebalanceCommand(program: Command, line: CommandLine): void {
  program
    .command('rebalance')
    .description('ask the nodes with most devices to release their surplus')
    .addOption(new Option('--status', 'print the progress instead').conflicts('cancel'))
    .addOption(new Option('--cancel', 'end a rebalance instead').conflicts('fast'))
    .addOption(
      new Option('--fast', 'release 1,000 devices in 5 minutes, not 1 % a minute').conflicts('status'),
    )
    .action(async ({ status, cancel, fast = false }: Options, command: Command) => {
      const config = line.settings()
      if (config.databaseUrl === undefined)
        throw new ConfigError(
          'MUSTER_DATABASE_URL: found nothing, expected the database that several nodes share: a hub with an embedded database is the only node.',
        )
      await using instance = await openInstance(config)
      const parts = { ...instance, log: quietLog(config) }
      const { value, text } = await (status
        ? progress(instance.db)
        : cancel
          ? end(parts)
          : start(parts, fast))
      line.print(command, value, text)
    })
}

type Result = { value: unknown; text: string }
type Parts = Pick<CommandParts, 'db' | 'log'>

/** Runs a change in a transaction of the instance's database. It queues no job. */
function inTransaction<T>(
  { db, log }: Parts,
  work: (transaction: Pick<CommandTransaction, 'tx' | 'events'>) => Promise<T>,
): Promise<T> {
  const jobs = { enqueue: () => Promise.reject(new Error('This command has no job queue.')), wake: () => {} }
  return commandTransaction(work, { caller: SYSTEM, scope: {} }, { db, log, jobs, live: NO_CONSOLES })
}

async function start(parts: Parts, isFast: boolean): Promise<Result> {
  const { releases, deviceCount } = await inTransaction(parts, async ({ tx, events }) => {
    const rebalance = await startRebalance(tx, isFast)
    const { releases, deviceCount } = rebalance
    const nodeIds = releases.map(({ nodeId }) => nodeId)
    if (nodeIds.length > 0) await events.emit('cluster_RebalanceStarted', { nodeIds, deviceCount })
    return rebalance
  })
  const value = { releases, deviceCount }
  if (deviceCount === 0) return { value, text: 'No node has a surplus of devices.' }
  const text = [
    ...releases.map(
      ({ name, nodeId, releaseCount, lastsSecs }) =>
        `${name} (${nodeId}) releases ${releaseCount} devices in ${minutes(lastsSecs)}.`,
    ),
    'Devices with a published Nexigon agent stay away for about 60 s, Muster’s own return at once.',
    'muster-hub rebalance --status prints the progress, --cancel ends it.',
  ].join('\n')
  return { value, text }
}

async function end(parts: Parts): Promise<Result> {
  const nodeIds = await inTransaction(parts, async ({ tx, events }) => {
    const nodeIds = await cancelRebalance(tx)
    if (nodeIds.length > 0) await events.emit('cluster_RebalanceCancelled', { nodeIds })
    return nodeIds
  })
  return {
    value: { nodeIds },
    text: nodeIds.length === 0 ? 'No node releases devices.' : 'The rebalance has ended.',
  }
}

async function progress(db: Db): Promise<Result> {
  const nodes = (await shownNodes(db)).map(
    ({
      name,
      node_id: nodeId,
      connection_count,
      release_total: total,
      release_done: done,
      isReleaseFast,
    }) => {
      const deviceCount = connection_count ?? 0
      if (total === null) return { nodeId, name, deviceCount }
      return {
        nodeId,
        name,
        deviceCount,
        release: { total, done, leftSecs: releaseSecs(total - done, deviceCount, isReleaseFast) },
      }
    },
  )
  const lines = nodes.map(({ nodeId, name, deviceCount, release }) => {
    const released = release
      ? `, released ${release.done} of ${release.total}, ${minutes(release.leftSecs)} left`
      : ''
    return `${name} (${nodeId}): ${deviceCount} devices${released}`
  })
  return { value: { nodes }, text: lines.join('\n') || 'No node is running.' }
}

function minutes(secs: number): string {
  return `${Math.ceil(secs / 60)} min`
}

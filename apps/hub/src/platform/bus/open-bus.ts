import { waitUpTo } from '@muster/concurrency'
import type { ClusterNode } from '../cluster/node.ts'
import type { Config } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import { externalConnection } from '../database/server/external.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'
import type { Bus } from './bus.ts'
import { type Carrier, carriersOf } from './carriers.ts'
import { CombinedBus } from './combined-bus.ts'
import { InProcessBus } from './in-process-bus.ts'
import { postgresConnect } from './postgres-connection.ts'
import { type Connect, RemoteBus } from './remote-bus.ts'

/** Longest time that the start of the hub waits for the first connection of the bus, in milliseconds. */
const FIRST_ATTEMPT_MS = 2_000
/**
 * Minimum time between two notifications of a node through PostgreSQL, in milliseconds. Notifications share one lock in the database;
 * 5 a second cost concurrent writers nothing measurable.
 */
const POSTGRES_INTERVAL_MS = 200

type OpenBusOptions = {
  config: Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'natsUrls' | 'bus'>
  key: InstanceKey
  node: Pick<ClusterNode, 'nodeId' | 'hasOthers' | 'otherSeen'>
  log: Logger
  readiness: Pick<Readiness, 'degrade' | 'restore'>
}

/**
 * Opens the bus that the settings name: over NATS, over the external database, over both, or inside this process. Over the database it connects
 * only once another node is alive, so a single node needs no further connection. Over NATS it connects immediately. While the bus is
 * disconnected, the hub reports `degraded`. Never rejects for an unreachable server, because the hub works without its bus.
 */
export async function openBus({ config, key, node, log, readiness }: OpenBusOptions): Promise<Bus> {
  const { nodeId } = node
  const remotes = await remoteConnects(config, key)
  if (remotes.length === 0) return new InProcessBus({ nodeId, log })
  const buses = remotes.map(
    remote =>
      new RemoteBus({
        ...remote,
        nodeId,
        log,
        intervalMs: remote.kind === 'NATS' ? 0 : POSTGRES_INTERVAL_MS,
      }),
  )
  const bus = buses.length === 1 ? buses[0]! : new CombinedBus(buses)
  bus.subscribe('echo', ({ askedBy }) => bus.publish('echoes', { askedBy, nodeId }))
  bus.onStatus(({ isConnected }) => {
    if (isConnected) readiness.restore('bus')
    else
      readiness.degrade(
        'bus',
        `the bus between nodes is away (${bus.kind}); changes made on other nodes arrive by polling`,
      )
  })
  const starts = buses.map(async one => {
    if (one.kind === 'NATS' || node.hasOthers) await one.start()
    else void node.otherSeen.then(() => one.start())
  })
  await waitUpTo(FIRST_ATTEMPT_MS, Promise.all(starts))
  return bus
}

/** Connections to the servers that carry the messages between nodes; none with an embedded database, which has one node. */
export async function remoteConnects(
  config: OpenBusOptions['config'],
  key: InstanceKey,
): Promise<{ kind: Carrier; connect: Connect }[]> {
  const { databaseUrl, databaseDirectUrl = databaseUrl, natsUrls } = config
  // 12 characters, because PostgreSQL limits the name of a notification channel to 63 bytes.
  const instanceId = key('bus').toString('hex').slice(0, 12)
  return Promise.all(
    carriersOf(config).map(async kind => {
      if (kind === 'PostgreSQL')
        return { kind, connect: postgresConnect(externalConnection(databaseDirectUrl!), instanceId) }
      // A dynamic import, so that only hubs with NATS load the client.
      const { natsConnect } = await import('./nats-connection.ts')
      return { kind, connect: natsConnect(natsUrls!, instanceId) }
    }),
  )
}

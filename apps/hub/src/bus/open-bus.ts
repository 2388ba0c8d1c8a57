import { waitUpTo } from '@muster/concurrency'
import type { ClusterNode } from '../cluster/node.ts'
import type { Config } from '../config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import { externalConnection } from '../database/server/external.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'
import type { Bus } from './bus.ts'
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
  config: Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'natsUrls'>
  key: InstanceKey
  node: Pick<ClusterNode, 'nodeId' | 'hasOthers' | 'otherSeen'>
  log: Logger
  readiness: Pick<Readiness, 'degrade' | 'restore'>
}

/**
 * Opens the bus that the settings name: over NATS, else over the external database, else inside this process. Over the database it connects
 * only once another node is alive, so a single node needs no further connection. Over NATS it connects immediately. While the bus is
 * disconnected, the hub reports `degraded`. Never rejects for an unreachable server, because the hub works without its bus.
 */
export async function openBus({ config, key, node, log, readiness }: OpenBusOptions): Promise<Bus> {
  const { nodeId } = node
  const remote = await remoteConnect(config, key)
  if (remote === undefined) return new InProcessBus({ nodeId, log })
  const bus = new RemoteBus({
    ...remote,
    nodeId,
    log,
    intervalMs: remote.kind === 'NATS' ? 0 : POSTGRES_INTERVAL_MS,
  })
  bus.onStatus(({ isConnected }) => {
    if (isConnected) readiness.restore('bus')
    else
      readiness.degrade(
        'bus',
        `the bus between nodes is away (${bus.kind}); changes made on other nodes arrive by polling`,
      )
  })
  if (remote.kind === 'NATS' || node.hasOthers) await waitUpTo(FIRST_ATTEMPT_MS, bus.start())
  else void node.otherSeen.then(() => bus.start())
  return bus
}

/** Connection to the server that carries the messages between nodes; undefined with an embedded database, which has one node. */
export async function remoteConnect(
  { databaseUrl, databaseDirectUrl = databaseUrl, natsUrls }: OpenBusOptions['config'],
  key: InstanceKey,
): Promise<{ kind: 'PostgreSQL' | 'NATS'; connect: Connect } | undefined> {
  if (databaseDirectUrl === undefined) return undefined
  // 12 characters, because PostgreSQL limits the name of a notification channel to 63 bytes.
  const instanceId = key('bus').toString('hex').slice(0, 12)
  if (natsUrls === undefined)
    return {
      kind: 'PostgreSQL',
      connect: postgresConnect(externalConnection(databaseDirectUrl), instanceId),
    }
  // A dynamic import, so that only hubs with NATS load the client.
  const { natsConnect } = await import('./nats-connection.ts')
  return { kind: 'NATS', connect: natsConnect(natsUrls, instanceId) }
}

import { newId } from '@muster/actions'
import { createLog } from '@muster/hub/log'
import { connectPerson } from '@muster/testkit/device'
import { until } from '@muster/testkit/until'
import { nodeLinkKeys } from '../apps/hub/src/link/node-links/handshake.ts'
import { NodeLink } from '../apps/hub/src/link/node-links/node-link.ts'
import { instanceKeyOf } from '../apps/hub/src/platform/credentials/instance-key.ts'
import { deviceAt, newMember, streamAt } from './ended-rights.ts'
import { INSTANCE_KEY, type Nodes } from './nodes.ts'

/** Largest message that NATS takes, in bytes: 1 MiB, the default of `max_payload`. */
const NATS_MAX_BYTES = 1_048_576

/** Text of a batch of messages from an unknown node. */
export function forgedBatch(messages: unknown[]): string {
  return JSON.stringify({ from: newId('cluster_node'), messages })
}

/** Publishes texts on a subject of the bus, as anybody could who reaches its server. */
export function publishForged({ carrier }: Nodes, subject: string, ...texts: string[]): Promise<void> {
  const instanceId = instanceKeyOf(INSTANCE_KEY)('bus').toString('hex').slice(0, 12)
  return carrier.publish(`muster.${instanceId}.${subject}`, ...texts)
}

/**
 * Publishes messages with ids of other tenants, of a wrong type and of 1 MiB, and requests channels for foreign devices over a link between
 * nodes. `effects` has what changed at the nodes, which must be nothing. `hugeRefusal` is the reason for which the server refused the message of
 * 1 MiB; undefined if it took it.
 */
export async function sendForeignIds(
  nodes: Nodes,
  echoPort: number,
): Promise<{ messageCount: number; refusedChannels: number; effects: string[]; hugeRefusal?: string }> {
  const foreign = await newMember(nodes)
  await nodes.database.query('delete from organization_member where user_id = $1', [foreign.userId])
  await using device = await deviceAt(nodes, 1)
  await using live = await streamAt(nodes, 0, foreign)
  const own = await newMember(nodes)
  await using line = await connectPerson(nodes.hubs[2]!.url, own.token)
  const { rows } = await nodes.database.query<{ connection_id: string; node_id: string; link_url: string }>(
    `select c.connection_id, n.node_id, n.link_url from device d
       join device_connection c on c.connection_id = d.connection_id join cluster_node n on n.node_id = c.node_id
      where d.device_id = $1`,
    [device.deviceId],
  )
  const [holder] = rows
  const { organizationId, projectId } = nodes.project
  const { certificates } = await nodes.at(0)('devices_GetDetails', { deviceId: device.deviceId })
  const rights = [
    { organizationId },
    { projectId },
    { deviceId: device.deviceId },
    { certificateId: certificates[0]!.certificateId },
    { userId: own.userId },
    { connectionId: holder!.connection_id },
  ]
  const messages: [subject: string, text: string][] = [
    ['rights', forgedBatch(rights)],
    [`live.${foreign.userId}`, forgedBatch([{ topic: 'devices', organizationId, projectId }])],
    [`live.${organizationId}`, forgedBatch([{ topic: 'devices', organizationId: newId('org') }])],
    [
      `node.${holder!.node_id}`,
      forgedBatch([{ connectionId: newId('d_conn') }, { deviceId: device.deviceId }]),
    ],
    ['rights', 'no JSON'],
    ['rights', forgedBatch([7, null, { userId: "u_' or true --" }])],
  ]
  for (const [subject, text] of messages) await publishForged(nodes, subject, text)
  const frameBytes = forgedBatch([{ userId: '' }]).length
  const huge = forgedBatch([{ userId: 'u'.repeat(NATS_MAX_BYTES - frameBytes) }])
  const hugeRefusal = await publishForged(nodes, 'rights', huge).then(
    () => undefined,
    (error: Error) => error.message,
  )

  const { rows: others } = await nodes.database.query<{ node_id: string }>(
    `select node_id from cluster_node where left_at is null and name = 'node-3'`,
  )
  const peer = { nodeId: holder!.node_id, url: holder!.link_url }
  const node = new NodeLink(peer, {
    nodeId: others[0]!.node_id,
    keys: nodeLinkKeys(instanceKeyOf(INSTANCE_KEY), undefined),
    allowPlaintext: false,
    idleMs: 60_000,
    log: createLog('silent'),
  })
  const connection = { deviceId: device.deviceId, connectionId: holder!.connection_id, projectId }
  let refusedChannels = 0
  for (const wrong of [{ projectId: newId('p') }, { connectionId: newId('d_conn') }])
    await node
      .device({ ...connection, ...wrong })
      .open(`forward/tcp/${echoPort}`)
      .catch(() => refusedChannels++)
  node.close('done')

  // A later change arrives, so the nodes have read the forged messages before it.
  await using after = await streamAt(nodes, 2, own)
  await until('a later change arrives', async () => {
    await device.invoke('devices_SetProperty', { deviceId: device.deviceId, name: 'later', value: 1 })
    return after.changes.length > 0
  })
  const effects = Object.entries({
    'a change reached another tenant': live.changes.length > 0,
    'the live stream ended': !live.isOpen,
    'the link of a command line ended': !line.isOpen,
    'the link of a device ended': !device.link.isOpen,
    'the device is shown at another node': (await nodes.holderOf(device.deviceId)) !== 1,
  }).flatMap(([effect, isSeen]) => (isSeen ? [effect] : []))
  return {
    messageCount: messages.length + 1,
    refusedChannels,
    effects,
    ...(hugeRefusal !== undefined && { hugeRefusal }),
  }
}

import { newId } from '@muster/actions'
import { secondNode, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { ConfigError } from '../config/config-error.ts'

const NATS = { natsUrls: ['nats://127.0.0.1:1'] }

it('O14: refuses a node that shares no carrier of messages with a running node', async () => {
  await using hub = await testHub({ nodeName: 'here' })
  const refusal = new ConfigError(
    'MUSTER_BUS: found NATS as carrier of messages, and the running node here uses PostgreSQL, expected one that all nodes use: set MUSTER_NATS_URL and MUSTER_BUS alike on all nodes, or MUSTER_BUS=both on each node while the carrier changes.',
  )
  await expect(secondNode(hub, NATS)).rejects.toThrow(refusal)
  await expect(secondNode(hub, { ...NATS, bus: 'nats' })).rejects.toThrow(refusal)
  const { rows } = await hub.pool.query('select from cluster_node where left_at is null')
  expect(rows).toHaveLength(1)
  await using _postgresql = await secondNode(hub, { ...NATS, bus: 'postgresql' })
  await using _both = await secondNode(hub, { ...NATS, bus: 'both' })
})

it('O14: reads the carrier of a node of an older release from its report, and ignores nodes that have left', async () => {
  await using hub = await testHub()
  const addNode = (name: string, kind: string, left_at: Date | null) =>
    hub.db
      .insertInto('cluster_node')
      .values({ node_id: newId('cluster_node'), name, facts: JSON.stringify({ bus: { kind } }), left_at })
      .execute()
  await addNode('left', 'NATS', new Date())
  await using _second = await secondNode(hub)
  await addNode('older', 'NATS', null)
  await expect(secondNode(hub)).rejects.toThrow(
    'found PostgreSQL as carrier of messages, and the running node older uses NATS, expected',
  )
})

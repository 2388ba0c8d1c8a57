import { createClient } from '@muster/actions'
import { liveStream, secondNode, testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'

it('O20: a console of an older node loads again once a node has joined, and then gets its changes, without a heartbeat', async () => {
  // Longer than the test, so that each node stores its first heartbeat only.
  const heartbeatMs = 600_000
  await using hub = await testHub({ heartbeatMs })
  const { owner, projectId } = await hub.fleet()
  await using before = await liveStream(hub, owner)
  await using joined = await secondNode(hub, { heartbeatMs })
  const client = createClient({ baseUrl: joined.url, headers: { cookie: owner.cookie, origin: joined.url } })
  await client('projects_SetName', { projectId, name: 'Renamed at once' })
  await until('the console loads again', () => !before.isOpen)
  await using after = await liveStream(hub, owner)
  await client('projects_SetName', { projectId, name: 'Renamed later' })
  await until('the change arrives', () => after.changes.some(({ topic }) => topic === 'projects'))
  expect(after.isOpen).toBe(true)
})

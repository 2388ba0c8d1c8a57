import { newDatedId } from '@muster/actions'
import { connectDevice, databaseSession, deviceRow, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

it('leaves everybody else their connections while one person looks through more than the hub has', async () => {
  await using hub = await testHub()
  const { owner, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const stranger = await hub.fleet()
  await deviceRow(hub, stranger.projectId)
  await using session = await databaseSession(hub)
  // Whoever looks at properties now takes as long as a statement may.
  await session.lock('device_property')
  const { projectId } = stranger
  const filter = { properties: [{ property: 'log', operator: 'contains' as const, value: 'x' }] }
  const asked = Array.from({ length: 24 }, () =>
    stranger.owner.invoke('projects_QueryDevices', { projectId, filter, limit: 1 }).then(
      ({ total }) => total,
      (error: { kind: string }) => error.kind,
    ),
  )
  await session.waitingStatements(2)

  const events = [
    {
      eventId: newDatedId('d_ev'),
      severity: 'Info',
      body: 1,
      attributes: {},
      emittedAt: new Date().toISOString(),
    },
  ]
  await device.invoke('devices_PublishEvents', { deviceId, events })
  await owner.invoke('organizations_SetName', { organizationId, name: 'Harbor' })
  expect(await owner.invoke('organizations_Query', { filter: { text: 'harb' } })).toMatchObject({
    organizations: [{ organizationId }],
  })
  expect(await owner.invoke('organizations_Search', { organizationId, text: 'nothing' })).toMatchObject({
    devices: [],
  })
  await using _another = await connectDevice({ url: hub.url, token })

  await session.release()
  // Each gets its answer in turn, or is told to come back where it waited too long.
  expect(new Set(await Promise.all(asked)).difference(new Set([0, 'RateLimited'])).size).toBe(0)
})

it('goes round by owners, and tells who waits too long', async () => {
  const turns = new Turns({ max: 2, maxEach: 1, waitTimeoutMs: 50 })
  const begun: string[] = []
  const work = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const done = turns.take(name[0]!, async () => {
      begun.push(name)
      await promise
    })
    done.catch(() => {})
    return { done, end: resolve }
  }
  const [a1, a2, b1, c1, late] = ['a1', 'a2', 'b1', 'c1', 'a3'].map(work) as [
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>,
    ReturnType<typeof work>,
  ]
  expect(begun).toEqual(['a1', 'b1'])
  // The place is no use to the one who has their share, who waits longer.
  b1.end()
  await b1.done
  expect(begun).toEqual(['a1', 'b1', 'c1'])
  a1.end()
  await a1.done
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2'])
  await expect(late.done).rejects.toMatchObject({ kind: 'RateLimited' })
  a2.end()
  c1.end()
  await Promise.all([a2.done, c1.done])
  expect(begun).toHaveLength(4)
})

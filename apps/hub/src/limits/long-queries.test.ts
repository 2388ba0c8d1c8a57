import { newDatedId } from '@muster/actions'
import { connectDevice, databaseSession, deviceRow, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { LongQueries } from './long-queries.ts'

it('leaves connections for others while one person runs more long queries than the pool has connections', async () => {
  await using hub = await testHub()
  const { owner, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const otherFleet = await hub.fleet()
  await deviceRow(hub, otherFleet.projectId)
  await using session = await databaseSession(hub)
  // Queries that read properties now wait for this lock, up to the statement timeout.
  await session.lock('device_property')
  const { projectId } = otherFleet
  const filter = { properties: [{ property: 'log', operator: 'contains' as const, value: 'x' }] }
  const pending = Array.from({ length: 24 }, () =>
    otherFleet.owner.invoke('projects_QueryDevices', { projectId, filter, limit: 1 }).then(
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
  // Each query returns its result, or `RateLimited` if it waited too long.
  expect(new Set(await Promise.all(pending)).difference(new Set([0, 'RateLimited'])).size).toBe(0)
})

it('refuses a query that waits too long', async () => {
  const queries = new LongQueries({ max: 2, maxPerOwner: 1, waitMs: 50 })
  const { promise, resolve: end } = Promise.withResolvers<string>()
  const first = queries.run('ada', () => promise)
  await expect(queries.run('ada', async () => 'second')).rejects.toMatchObject({
    kind: 'RateLimited',
    message: 'Too many long queries run at once: try again later.',
    retryAfterSecs: 5,
  })
  expect(await queries.run('grace', async () => 'other')).toBe('other')
  end('first')
  expect(await first).toBe('first')
})

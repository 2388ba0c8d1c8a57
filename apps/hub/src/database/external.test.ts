import { deviceRow, scratchDatabase, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'

it('tells times as they are, whatever the server’s own zone and style and the options in its address', async () => {
  await using database = await scratchDatabase('muster')
  const name = database.url.split('/').at(-1)!
  await database.query(`alter database ${name} set timezone = 'Asia/Kolkata'`)
  await database.query(`alter database ${name} set datestyle = 'German'`)
  // As one who keeps the hub in a schema of its own.
  await using hub = await testHub({ databaseUrl: `${database.url}?options=-c%20search_path%3Dpublic` })
  const { owner, projectId } = await hub.fleet()
  const firstSeen = new Date('2026-11-21T22:30:00.123Z')
  await deviceRow(hub, projectId, { firstSeen })
  await deviceRow(hub, projectId, { firstSeen })
  const first = await owner.invoke('projects_QueryDevices', { projectId, limit: 1 })
  const second = await owner.invoke('projects_QueryDevices', {
    projectId,
    limit: 1,
    cursor: first.nextCursor,
  })
  for (const { devices } of [first, second])
    expect(devices).toMatchObject([{ firstSeen: firstSeen.toISOString() }])
  expect(hub.pool.options.options).toContain('search_path=public')
})

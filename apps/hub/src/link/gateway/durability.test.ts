import dns from 'node:dns'
import { newDatedId } from '@muster/actions'
import {
  auditRows,
  connectDevice,
  databaseSession,
  databaseWire,
  scratchDatabase,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'

it('acknowledges an event only after the database has confirmed the commit', async () => {
  await using database = await scratchDatabase('muster')
  await using wire = await databaseWire(database)
  await using hub = await testHub({ databaseUrl: wire.url })
  const { token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const event = { eventId: newDatedId('d_ev'), severity: 'Info', body: 1, attributes: {} }
  const events = [{ ...event, emittedAt: new Date().toISOString() }]
  // The first event of a device causes statements that run only once. After it, publishing the event below needs a single insert.
  await device.invoke('devices_PublishEvents', {
    deviceId,
    events: [{ ...events[0]!, eventId: newDatedId('d_ev') }],
  })

  wire.hold()
  let isAcknowledged = false
  const sent = device.invoke('devices_PublishEvents', { deviceId, events }).then(() => {
    isAcknowledged = true
  })
  const isStored = async (): Promise<boolean> =>
    (await database.query(`select from device_event where event_id = '${event.eventId}'`)).length === 1
  await until('the event is committed', isStored)
  // The event is committed, but `wire` holds back the confirmation from the hub.
  for (let n = 0; n < 20; n++) {
    expect(await isStored()).toBe(true)
    expect(isAcknowledged).toBe(false)
  }
  wire.release()
  await sent
})

it('survives a connection that breaks between two statements of a transaction', async () => {
  await using hub = await testHub()
  await using session = await databaseSession(hub)
  const outcome = hub.db.transaction().execute(async tx => {
    await sql`select 1`.execute(tx)
    await session.terminateOthers()
    const isBack = (): Promise<boolean> =>
      sql`select 1`.execute(hub.db).then(
        () => true,
        () => false,
      )
    await until('the hub has connected to the database again', isBack)
    await sql`select 1`.execute(tx)
  })
  await expect(outcome).rejects.toThrow(/[Cc]onnection|not queryable|terminat/)
})

it('refuses to start on a database that may lose confirmed commits', async () => {
  await using database = await scratchDatabase('muster')
  const name = database.url.split('/').at(-1)!
  await database.query(`alter database ${name} set synchronous_commit = off`)
  await expect(testHub({ databaseUrl: database.url })).rejects.toThrow(
    /^MUSTER_DATABASE_URL: found a database that may lose what it has confirmed \(synchronous_commit off\)/,
  )
  // The server of the tests does not force data to the disk. The hub accepts this only with the setting `muster.is_disposable`, which
  // is off in this URL.
  const url = `${database.url}?options=-c%20muster.is_disposable%3Doff`
  await expect(testHub({ databaseUrl: url })).rejects.toThrow(
    /\(fsync, full_page_writes, synchronous_commit off\)/,
  )
})

it('reports the success of a command whose commit reply was lost, after reading its audit row', async () => {
  await using database = await scratchDatabase('muster')
  await using wire = await databaseWire(database)
  await using hub = await testHub({ databaseUrl: wire.url })
  const { owner, organizationId, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device

  wire.loseAnswer('commit', 'Made once')
  const { projectId: madeId } = await owner.invoke('projects_Create', { organizationId, name: 'Made once' })
  expect(wire.lost).toBe(1)
  const { projects } = await owner.invoke('projects_Query', {})
  expect(projects.filter(({ name }) => name === 'Made once')).toMatchObject([{ projectId: madeId }])

  // Although the commit's answer was lost, the steps after the commit run: the device is disconnected.
  wire.loseAnswer('commit', deviceId)
  expect(await owner.invoke('devices_Delete', { deviceId })).toEqual({})
  expect(wire.lost).toBe(2)
  expect(await device.link.ended).toMatchObject({ kind: 'PeerClose' })

  // The connection to the database breaks before the commit is sent, so the command has no effect.
  wire.loseAnswer('projects_Created', 'Never made')
  await expect(owner.invoke('projects_Create', { organizationId, name: 'Never made' })).rejects.toMatchObject(
    {
      status: 503,
    },
  )
  expect(await database.query(`select from project where name = 'Never made'`)).toEqual([])
  expect((await auditRows(hub, 'projects_Create')).map(({ status }) => status).slice(-2)).toEqual([
    'Succeeded',
    'Failed',
  ])
  expect(await owner.invoke('projects_GetDetails', { projectId })).toMatchObject({ projectId })
})

it('waits for a database whose host name does not resolve for a while, as when its container restarts', async () => {
  await using database = await scratchDatabase('muster')
  await using wire = await databaseWire(database)
  const resolve = dns.lookup
  const look = vi.spyOn(dns, 'lookup')
  try {
    let isKnown = true
    look.mockImplementation(((name: string, options: object, found: (...answer: unknown[]) => void) => {
      if (name !== 'database.test') return resolve(name, options, found as never)
      if (isKnown) found(null, [{ address: '127.0.0.1', family: 4 }])
      else found(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN' }))
    }) as never)
    await using hub = await testHub({ databaseUrl: wire.urlAt('database.test') })
    const { owner, projectId, token } = await hub.fleet()
    const device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device

    isKnown = false
    wire.cut()
    const sent = device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    await expect(owner.invoke('projects_SetName', { projectId, name: 'Other' })).rejects.toMatchObject({
      status: 503,
      message: 'The database is not available.',
    })
    isKnown = true
    expect(await sent).toEqual({ result: 'Set' })

    isKnown = false
    wire.cut()
    await device[Symbol.asyncDispose]()
    await until('the hub noticed the disconnect', () => hub.devices.sessions.length === 0)
    isKnown = true
    await until('the disconnect is recorded', async () => !(await shownAsConnected(hub, deviceId)))
  } finally {
    look.mockRestore()
  }
})

async function shownAsConnected(hub: TestHub, deviceId: string): Promise<boolean> {
  const row = await hub.db
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('is_connected')
    .executeTakeFirstOrThrow()
  return row.is_connected
}

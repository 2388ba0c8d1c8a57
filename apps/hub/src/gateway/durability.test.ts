import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newDatedId } from '@muster/actions'
import { connectDevice, databaseSession, scratchDatabase, testHub, until } from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'

/** What PostgreSQL's clients call the socket in the folder that is their host. */
const SOCKET_NAME = '.s.PGSQL.5432'

/** A wire to a database server on which replies can be held back; `folder` is the host to connect to. */
async function wireTo(
  host: string,
): Promise<AsyncDisposable & { folder: string; hold(): void; release(): void }> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-wire-'))
  const replies = new Set<Socket>()
  let isHeld = false
  const wire = createServer(client => {
    const server = connect(join(host, SOCKET_NAME))
    replies.add(server)
    client.pipe(server)
    server.pipe(client)
    if (isHeld) server.pause()
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    server.on('close', () => replies.delete(server))
  }).listen(join(folder, SOCKET_NAME))
  await once(wire, 'listening')
  return {
    folder,
    hold() {
      isHeld = true
      for (const server of replies) server.pause()
    },
    release() {
      isHeld = false
      for (const server of replies) server.resume()
    },
    async [Symbol.asyncDispose]() {
      wire.close()
      for (const server of replies) server.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

it('acknowledges nothing while the database’s word that it is stored is on its way', async () => {
  await using database = await scratchDatabase('muster')
  const host = database.connection.host!
  await using wire = await wireTo(host)
  const databaseUrl = database.url.replace(encodeURIComponent(host), encodeURIComponent(wire.folder))
  await using hub = await testHub({ databaseUrl })
  const { token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const event = { eventId: newDatedId('d_ev'), severity: 'Info', body: 1, attributes: {} }
  const events = [{ ...event, emittedAt: new Date().toISOString() }]
  // One before, so that nothing but the write itself is left to do.
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
  await until('it is committed', isStored)
  // Committed, and still the hub cannot know.
  for (let n = 0; n < 20; n++) {
    expect(await isStored()).toBe(true)
    expect(isAcknowledged).toBe(false)
  }
  wire.release()
  await sent
})

it('outlives a connection that breaks between two statements of a transaction', async () => {
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
    await until('the hub is back', isBack)
    await sql`select 1`.execute(tx)
  })
  await expect(outcome).rejects.toThrow(/[Cc]onnection|not queryable|terminat/)
})

it('refuses to live in a database that may lose what it has confirmed', async () => {
  await using database = await scratchDatabase('muster')
  const name = database.url.split('/').at(-1)!
  await database.query(`alter database ${name} set synchronous_commit = off`)
  await expect(testHub({ databaseUrl: database.url })).rejects.toThrow(
    /^MUSTER_DATABASE_URL: found a database that may lose what it has confirmed \(synchronous_commit off\)/,
  )
})

import { randomBytes } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newDatedId } from '@muster/actions'
import { connectDevice, type FakeDevice, smallDisk } from '@muster/testkit'
import { until } from '@muster/testkit/until'
import { expect, it } from 'vitest'
import { databaseOf, firstToken, startedHub } from './hub-child.ts'

const DISK_MIB = 512
/** Size of an event's body, in bytes. Its content is random, so that the database cannot compress it. */
const BODY_BYTES = 60_000
const CALLS_AT_MOST = 5_000

it('a hub with a full disk acknowledges no events, stays alive, and recovers when there is space (goal R9)', {
  timeout: 300_000,
}, async context => {
  await using disk = await smallDisk(DISK_MIB)
  if (!disk) return context.skip('needs the right to mount a file system')
  // With this small limit the database usually fails on the full disk before the hub refuses large events. But the hub checks the free
  // space each second, so it may refuse an event first.
  const env = { MUSTER_DISK_LOW_BYTES: '1048576' }
  await using hub = await startedHub({ dataDir: join(disk.path, 'data'), env })
  const options = { url: hub.url, token: firstToken(hub) }
  let device: FakeDevice = await connectDevice(options)
  const { identity, deviceId } = device
  await using _ = { [Symbol.asyncDispose]: () => device[Symbol.asyncDispose]() }

  const sent = new Set<string>()
  const acknowledged: string[] = []
  const publish = async (): Promise<void> => {
    const eventId = newDatedId('d_ev')
    const emittedAt = new Date().toISOString()
    const body = randomBytes((BODY_BYTES * 3) / 4).toString('base64')
    const event = { eventId, severity: 'Info', category: 'test', body, attributes: {}, emittedAt }
    sent.add(eventId)
    await device.invoke('devices_PublishEvents', { deviceId, events: [event] })
    acknowledged.push(eventId)
  }
  await publish()

  const filler = join(disk.path, 'filler')
  await fill(filler)
  let refusal: unknown
  for (let call = 0; call < CALLS_AT_MOST && refusal === undefined; call++)
    await publish().catch(error => {
      refusal = error
    })
  expect(String(refusal)).toMatch(
    /The disk of the database is full; nothing was changed\.|The database is not available\.|The hub is short of disk space/,
  )
  // Further calls fail too, but the hub stays alive.
  await expect(publish()).rejects.toThrow()
  expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)

  await rm(filler)
  await until(
    'events are acknowledged again',
    async () => {
      try {
        await publish()
        return true
      } catch {
        // The database failure may have closed the link, so the device reconnects.
        await device[Symbol.asyncDispose]()
        device = await connectDevice({ ...options, identity }).catch(() => device)
        return false
      }
    },
    120_000,
  )
  await hub.ready()
  await using database = await databaseOf(hub.dataDir)
  const { rows } = await database.query('select event_id from device_event where device_id = $1', [deviceId])
  const stored = rows.map(row => row.event_id as string)
  expect(stored).toEqual(expect.arrayContaining(acknowledged))
  expect(new Set(stored).size).toBe(stored.length)
  expect(stored.every(eventId => sent.has(eventId))).toBe(true)
})

/** Writes a file until the disk is full. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'w')
  for (const bytes of [1024 * 1024, 4096]) {
    const chunk = Buffer.alloc(bytes)
    let written = bytes
    while (written === bytes)
      written = await file.write(chunk).then(
        ({ bytesWritten }) => bytesWritten,
        error => {
          if (error.code !== 'ENOSPC') throw error
          return 0
        },
      )
  }
  await file.close()
}

import { readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ask,
  capturedLog,
  connectDevice,
  type FakeDevice,
  overPipeline,
  signIn,
  smallDisk,
  testHub,
  writeUpdate,
} from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { DiskSpace } from './disk-space.ts'

const MIB = 1024 * 1024

function set({ deviceId, invoke }: FakeDevice, name: string, sizeBytes: number): Promise<unknown> {
  return invoke('devices_SetProperty', { deviceId, name, value: 'x'.repeat(sizeBytes) })
}

it('S2, O1: allows sign-in, deletion and updates on a low disk, and refuses large values', {
  timeout: 120_000,
}, async context => {
  await using disk = await smallDisk(400)
  if (!disk) return context.skip('needs the right to mount a file system')
  const { log, named } = capturedLog('info')
  const lowBytes = 64 * MIB
  await using hub = await testHub(
    { dataDir: disk.path, databaseUrl: undefined, diskLowBytes: lowBytes, diskReserveBytes: 24 * MIB },
    log,
  )
  const ready = async () => (await ask(hub, '/readyz')).json() as { status: string; reason?: string }
  const hasReserve = async (): Promise<boolean> =>
    (await readdir(disk.path, { recursive: true })).some(path => path.endsWith('/reserve'))
  const fillTo = async (freeBytes: number, file: string): Promise<void> => {
    const { bavail, bsize } = await statfs(disk.path)
    await writeFile(join(disk.path, file), Buffer.alloc(bavail * bsize - freeBytes))
  }
  const { owner, token } = await hub.fleet()
  await using good = await connectDevice({ url: hub.url, token })
  await using culprit = await connectDevice({ url: hub.url, token })
  for (let at = 0; at < 5; at++) await set(culprit, 'log', MIB - 100 - at)
  await expect.poll(hasReserve).toBe(true)
  expect(await ready()).toEqual({ status: 'ready' })

  await fillTo(40 * MIB, 'filler')
  await expect.poll(ready).toMatchObject({
    status: 'degraded',
    reason: expect.stringMatching(
      /^disk space is low: \d+ MiB are free, expected at least 64 MiB; large values and high rates of devices are refused$/,
    ),
  })
  expect(named('disk space is low: large values and high rates of devices are refused')).toHaveLength(1)
  for (const device of [culprit, overPipeline(culprit)])
    await expect(set(device, 'log', 5000)).rejects.toMatchObject({
      kind: 'Internal',
      message: expect.stringMatching(
        /^The hub is short of disk space \(.*\): 60 values and events of up to 4096 bytes/,
      ),
    })
  const value = 'x'.repeat(5000)
  await expect(
    owner.invoke('devices_SetProperty', { deviceId: good.deviceId, name: 'a', value }),
  ).rejects.toMatchObject({ status: 507 })
  expect(await writeUpdate(good)).toBe('completed')
  expect(await writeUpdate(culprit)).toBe('completed')
  // Small values at a high rate are also refused while disk space is low.
  const writes = await Promise.allSettled(Array.from({ length: 100 }, (_, at) => set(culprit, 'a', at)))
  expect(writes.filter(({ status }) => status === 'fulfilled')).toHaveLength(60 - 12)
  expect(await hasReserve()).toBe(true)

  // Simulates another program that takes nearly all of the remaining space, so that the hub deletes its reserve file.
  await fillTo(3 * MIB, 'second')
  await expect.poll(async () => (await ready()).reason).toContain('the reserve is used up')
  expect(await hasReserve()).toBe(false)
  expect((await signIn(hub, owner.email, owner.password)).status).toBe(200)
  expect(await writeUpdate(good)).toBe('completed')
  expect(await owner.invoke('devices_Delete', { deviceId: culprit.deviceId })).toEqual({})
  expect(await hub.runJob('devices_SweepHistory', {})).toMatchObject({ status: 'Completed' })
  expect((await ask(hub, '/readyz')).status).toBe(200)

  await rm(join(disk.path, 'filler'))
  await rm(join(disk.path, 'second'))
  await expect.poll(ready).toEqual({ status: 'ready' })
  await expect.poll(hasReserve).toBe(true)
  expect(await set(good, 'log', 5000)).toEqual({ result: 'Set' })
})

it('S2: accepts only small values for a while after an external database reported a full disk', async () => {
  await using hub = await testHub()
  const { owner, organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  await sql`create function refuse() returns trigger language plpgsql
    as $$ begin raise exception 'no room' using errcode = '53100'; end $$`.execute(hub.db)
  await sql`create trigger refuse before insert on project for each row execute function refuse()`.execute(
    hub.db,
  )
  await expect(owner.invoke('projects_Create', { organizationId, name: 'No room' })).rejects.toMatchObject({
    status: 503,
  })
  expect((await ask(hub, '/readyz')).json()).toMatchObject({
    status: 'degraded',
    reason: expect.stringContaining('the database reported a full disk, SQLSTATE 53100'),
  })
  await expect(set(device, 'log', 5000)).rejects.toMatchObject({
    message: expect.stringContaining('The hub is short of disk space'),
  })
  expect(await writeUpdate(device)).toBe('completed')

  await using quick = new DiskSpace({
    disk: undefined,
    lowBytes: MIB,
    reserveBytes: MIB,
    readiness: hub.readiness,
    log: capturedLog().log,
    checkIntervalMs: 10,
    fullMs: 100,
  })
  quick.note(Object.assign(new Error('other'), { code: '53200' }))
  expect(quick.lowReason()).toBeUndefined()
  quick.note(Object.assign(new Error('no room'), { code: '53100' }))
  expect(quick.lowReason()).toContain('SQLSTATE 53100')
  await expect.poll(() => quick.lowReason()).toBeUndefined()
})

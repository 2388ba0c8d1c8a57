import { randomBytes } from 'node:crypto'
import { newDatedId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import {
  capturedLog,
  connectDevice,
  deviceHeaders,
  deviceIdentity,
  heldDuring,
  silentConnections,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'

// These tests send floods that a single device can send without violating the protocol.

const captured = capturedLog()
const { limits } = loadConfig({})
// A single device opens 10,000 links in these tests, which the default limits would refuse, and sends events until the database slows it
// down, which the default pace would do before.
const roomy = {
  ...limits,
  'device-unregistered-links': 10_001,
  'organization-link-share': 100,
  'device-bytes-per-second': 1024 * 1024 * 1024,
}
const hub = await testHub({ limits: roomy }, captured.log)
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
})

const KIB = 1024
const MIB = 1024 * KIB

describe('10,000 connections that send only Hello', () => {
  it('cost little memory, delay no other device, and are closed', { timeout: 180_000 }, async () => {
    const count = 10_000
    const { token } = await hub.fleet()
    await using bystander = await connectDevice({ url: hub.url, token })
    const { deviceId } = bystander
    const identity = await deviceIdentity()
    const headers = deviceHeaders({ url: hub.url, token, register: false }, identity)
    // Enrols the device first, because concurrent first connections would wait for each other.
    await (await connectDevice({ url: hub.url, token, identity, register: false }))[Symbol.asyncDispose]()
    await until('its connection has ended', () => hub.devices.sessions.length === 1)
    const before = process.memoryUsage().rss
    const from = performance.now()
    using silent = silentConnections({ url: hub.url, headers, count })
    let slowest = 0
    let most = 0
    await until(
      'all of them are closed',
      async () => {
        const asked = performance.now()
        await bystander.invoke('devices_SetProperty', { deviceId, name: 'alive', value: silent.closed() })
        slowest = Math.max(slowest, performance.now() - asked)
        most = Math.max(most, hub.devices.sessions.length)
        return silent.closed() === count
      },
      170_000,
    )
    expect((process.memoryUsage().rss - before) / most).toBeLessThan(75 * KIB)
    expect(slowest).toBeLessThan(3_000)
    // The hub sends a Ping after 5 s and waits 15 s for the Pong.
    expect(performance.now() - from).toBeGreaterThan(19_000)
    await until('the hub has removed their sessions', () => hub.devices.sessions.length === 1)
  })
})

describe('a device that sends 100 MB of events as fast as it can', () => {
  it('is slowed down to the speed of storage, and loses no event', { timeout: 120_000 }, async () => {
    const { token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    await using bystander = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const calls = 100
    const eventsPerCall = 20
    // Random text of 50 KiB, which can hardly be compressed.
    const body = (): string => randomBytes(37.5 * KIB).toString('base64')
    let slowest = 0
    let sent = 0
    const writer = async (): Promise<void> => {
      const executor = new ExecutorClient(await device.link.open('executor'))
      while (sent < calls) {
        sent++
        const events = Array.from({ length: eventsPerCall }, () => ({
          eventId: newDatedId('d_ev', new Date()),
          severity: 'Info',
          body: body(),
          attributes: {},
          emittedAt: new Date().toISOString(),
        }))
        expect(await executor.invoke('devices_PublishEvents', { deviceId, events })).toEqual({})
      }
    }
    let isOver = false
    const watching = (async () => {
      while (!isOver) {
        const from = performance.now()
        await bystander.invoke('devices_SetProperty', {
          deviceId: bystander.deviceId,
          name: 'alive',
          value: sent,
        })
        slowest = Math.max(slowest, performance.now() - from)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    })()
    const { heldBytes } = await heldDuring(() => Promise.all(Array.from({ length: 6 }, writer)))
    isOver = true
    await watching
    const { count, bytes } = await hub.db
      .selectFrom('device_event')
      .where('device_id', '=', deviceId)
      .select(({ fn, ref }) => [
        fn.countAll<string>().as('count'),
        fn.sum<string>(fn('octet_length', [fn<string>('text', [ref('body')])])).as('bytes'),
      ])
      .executeTakeFirstOrThrow()
    expect(Number(count)).toBe(calls * eventsPerCall)
    expect(Number(bytes)).toBeGreaterThan(100_000_000)
    expect(heldBytes).toBeLessThan(96 * MIB)
    expect(slowest).toBeLessThan(5_000)
  })
})

describe('values beyond every limit', () => {
  const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  it.each([
    ['a property of 8 MiB', { value: 'x'.repeat(8 * MIB - 200) }, 'at most 1048576 are stored'],
    ['a property 1,000 levels deep', { value: deep(1000) }, 'nested deeper than 64 levels'],
    ['a property with two branches of 2,000 levels', { value: [deep(2000), deep(2000)] }, 'nested deeper'],
  ])(
    '%s is refused with a reason over the link and over HTTP, and the connection stays open',
    async (_what, input, words) => {
      const { owner, token } = await hub.fleet()
      await using device = await connectDevice({ url: hub.url, token })
      const call = { deviceId: device.deviceId, name: 'large', ...input }
      const refusal = { kind: 'Invalid', message: expect.stringContaining(words) }
      await expect(device.invoke('devices_SetProperty', call)).rejects.toMatchObject(refusal)
      await expect(owner.invoke('devices_SetProperty', call)).rejects.toMatchObject(refusal)
      expect(
        await device.invoke('devices_GetProperty', { deviceId: device.deviceId, name: 'large' }),
      ).toEqual({
        result: 'NotFound',
      })
    },
  )

  it('an input over 8 MiB closes only its channel, and is refused over HTTP', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const call = { deviceId: device.deviceId, name: 'large', value: 'x'.repeat(8 * MIB) }
    await expect(owner.invoke('devices_SetProperty', call)).rejects.toMatchObject({ status: 413 })
    const channel = await device.link.open('executor')
    const name = Buffer.from('devices_SetProperty')
    const head = Buffer.alloc(6 + name.length)
    head.writeUInt16BE(name.length)
    name.copy(head, 2)
    head.writeUInt32BE(8 * MIB + 1, 2 + name.length)
    await channel.write(head)
    expect(await channel.read()).toBeNull()
    expect(channel.canWrite).toBe(false)
    expect(await device.invoke('devices_GetProperty', { deviceId: device.deviceId, name: 'large' })).toEqual({
      result: 'NotFound',
    })
  })
})

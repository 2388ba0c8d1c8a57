import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get, Agent as HttpsAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  askUpgrade,
  capturedLog,
  connectDevice,
  deviceHeaders,
  deviceIdentity,
  testHub,
  type UpgradeAnswer,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { bareDevice, countOf, openInRow } from '../../link/gateway/testing/bare-device.ts'
import { loadConfig } from '../config/config.ts'
import { descriptorsForDevices, processDescriptors } from '../runtime/descriptors.ts'
import { LinkShares } from './link-shares.ts'

const { limits } = loadConfig({})

/** The hub of these tests may use 600 file descriptors. It reserves 293 of them, which leaves 307 for devices. */
const captured = capturedLog()
const hub = await testHub({ maxDescriptors: 600 }, captured.log)
afterAll(() => hub[Symbol.asyncDispose]())

describe('unregistered links', () => {
  it('S4: are limited to 32 per device: the next is refused with a reason, and other connections are not affected', async () => {
    const { owner, token } = await hub.fleet()
    await using registered = await connectDevice({ url: hub.url, token })
    const { deviceId, identity } = registered
    const device = { ...bareDevice(hub, token), identity }
    const headers = deviceHeaders({ url: hub.url, token, register: false }, identity)
    const open = () => askUpgrade(hub.url, headers)
    const answers = await Promise.all(Array.from({ length: 32 }, open))
    expect(countOf(answers, 101)).toBe(32)
    expect(await open()).toMatchObject({
      status: 429,
      retryAfterSecs: 30,
      body: {
        kind: 'RateLimited',
        message:
          'Limit device-unregistered-links: found 33, expected at most 32 unregistered links. Let other one-shot commands of the device end first.',
      },
    })
    expect((await open()).status).toBe(429)
    expect(await registered.invoke('actor_GetActor', {})).toMatchObject({ actor: { deviceId } })
    await using other = await connectDevice({ url: hub.url, token, register: false })
    expect(other.deviceId).not.toBe(deviceId)
    await expect
      .poll(() => owner.invoke('devices_GetDetails', { deviceId }))
      .toMatchObject({
        unregisteredLinks: 32,
        connections: { length: 1 },
        limitHits: [{ limit: 'device-unregistered-links' }],
        lastRefusal: { count: 2 },
      })
    expect(captured.named('a limit was hit').filter(line => line.deviceId === deviceId)).toHaveLength(1)

    for (const { socket } of answers) socket!.destroy()
    await expect
      .poll(async () => (await owner.invoke('devices_GetDetails', { deviceId })).unregisteredLinks)
      .toBe(0)
    expect((await open()).status).toBe(101)
    device.end()
  })

  it('S4: of an organization hold half of the free descriptors; further ones wait, then are refused', async () => {
    const { token, organizationId } = await hub.fleet()
    const devices = Array.from({ length: 8 }, () => bareDevice(hub, token))
    // Enrols the devices first, so that none of the links below has to wait for an enrolment.
    for (const device of devices) {
      expect((await device.open()).status).toBe(101)
      device.end()
    }
    let answered: UpgradeAnswer[] = []
    const asked = Promise.all(
      devices.flatMap(device =>
        Array.from({ length: 32 }, async () => {
          const answer = await device.open()
          answered.push(answer)
        }),
      ),
    )
    asked.catch(() => {})
    // Of 256 links, 153 are admitted (half of 307 descriptors), 77 wait, and 26 are refused immediately. A few more are refused while
    // sockets of earlier tests are still closing.
    await expect.poll(() => countOf(answered, 101)).toBeGreaterThan(140)
    await expect.poll(() => countOf(answered, 429)).toBeGreaterThanOrEqual(26)
    expect(countOf(answered, 101)).toBeLessThanOrEqual(153)
    expect(countOf(answered, 429)).toBeLessThan(50)
    expect(answered.find(({ status }) => status === 429)).toMatchObject({
      retryAfterSecs: 30,
      body: {
        kind: 'RateLimited',
        message: expect.stringMatching(
          /^Limit organization-link-share: found 5\d, expected at most 50 percent of the free descriptors\. Let other one-shot commands of the devices of the organization end first\.$/,
        ),
      },
    })
    const lines = captured.named('a limit was hit').filter(line => line.organizationId === organizationId)
    expect(lines).toMatchObject([{ limit: 'organization-link-share', count: 1 }])

    // While links of this organization wait, other clients are served: one-shot commands of another organization, registered
    // devices, people and health checks.
    const other = await hub.fleet()
    expect(await openInRow(bareDevice(hub, other.token), 10)).toEqual(Array(10).fill(101))
    await using registered = await connectDevice({ url: hub.url, token })
    expect(await registered.invoke('actor_GetActor', {})).toHaveProperty('actor')
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)

    // Waiting links are admitted when other links close.
    while (answered.length < 256) {
      for (const device of devices) device.end()
      const before = answered.length
      await expect.poll(() => answered.length).toBeGreaterThan(before)
    }
    await asked
    expect(countOf(answered, 101)).toBeGreaterThan(200)
    for (const device of devices) device.end()
    answered = []
  })

  it('S4: wait until their deadline, and leave no count behind', async () => {
    using slots = new LinkShares({ capacity: descriptorsForDevices(100), values: limits, maxWaitMs: 50 })
    const owner = { deviceId: 'd', tokenId: 't', projectId: 'p', organizationId: 'o' }
    const socket = (): Socket => Object.assign(new EventEmitter(), { destroyed: false }) as unknown as Socket
    const open = async (deviceId: string): Promise<Socket> => {
      const one = socket()
      slots.hold(one)
      await slots.takeOfDevice({ ...owner, deviceId }, one).catch(error => {
        one.emit('close')
        throw error
      })
      return one
    }
    const held = await Promise.all(Array.from({ length: 25 }, () => open('first')))
    await expect(open('second')).rejects.toMatchObject({ limit: 'organization-link-share' })
    expect(slots.countOf('second')).toBe(0)
    const waiting = open('second')
    held.pop()!.emit('close')
    held.push(await waiting)
    expect(slots.countOf('first')).toBe(24)
    for (const one of held) one.emit('close')
    expect(slots.countOf('first')).toBe(0)
    expect(await Promise.all(Array.from({ length: 25 }, () => open('third')))).toHaveLength(25)
  })
})

describe('connected devices', () => {
  it('of an organization leave descriptors to those of others, and are refused with the share that was found', async () => {
    const { log, named } = capturedLog()
    // 128 descriptors leave 64 for devices.
    await using small = await testHub(
      { maxDescriptors: 128, limits: { ...limits, 'organization-device-share': 50 } },
      log,
    )
    const { token, organizationId } = await small.fleet()
    const device = bareDevice(small, token)
    const answers: UpgradeAnswer[] = []
    for (let count = 0; count < 33; count++) {
      const one = count < 32 ? bareDevice(small, token) : device
      answers.push(await one.open(true))
    }
    expect(countOf(answers, 101)).toBe(32)
    expect(answers.at(-1)).toMatchObject({
      status: 429,
      retryAfterSecs: 30,
      body: {
        kind: 'RateLimited',
        message:
          'Limit organization-device-share: found 52, expected at most 50 percent of the free descriptors. Start further nodes, or raise the limit of open files.',
      },
    })
    expect(named('a limit was hit').filter(line => line.organizationId === organizationId)).toMatchObject([
      { limit: 'organization-device-share', count: 1 },
    ])
    const other = await small.fleet()
    const stranger = bareDevice(small, other.token)
    expect((await stranger.open(true)).status).toBe(101)
    stranger.end()

    // A closed connection leaves its place to the next device.
    answers[0]!.socket!.destroy()
    await expect.poll(async () => (await device.open(true)).status).toBe(101)
    device.end()
    for (const { socket } of answers) socket?.destroy()
  })
})

describe('a hub whose descriptors for devices are all held', () => {
  it('S4: refuses further devices with one warning, and serves people and health checks', async () => {
    const { log, named } = capturedLog()
    // 128 descriptors leave 64 for devices.
    await using small = await testHub(
      { maxDescriptors: 128, limits: { ...limits, 'organization-link-share': 100 } },
      log,
    )
    const { owner, projectId, token } = await small.fleet()
    const devices = [bareDevice(small, token), bareDevice(small, token)]
    for (const device of devices)
      for (let round = 0; round < 4; round++) expect(countOf(await device.openMany(8), 101)).toBe(8)
    for (let count = 0; count < 3; count++) {
      expect(await bareDevice(small, token).open(true)).toMatchObject({
        status: 503,
        body: { kind: 'Internal', message: 'devices hold all file descriptors that they may' },
      })
    }
    expect(named('devices hold all file descriptors that they may')).toMatchObject([{ descriptors: 64 }])
    expect((await fetch(`${small.url}/healthz`)).status).toBe(200)
    expect((await owner.invoke('projects_QueryDevices', { projectId })).devices).toHaveLength(2)
    devices[0]!.end()
    const late = bareDevice(small, token)
    await expect.poll(async () => (await late.open(true)).status).toBe(101)
    for (const device of [...devices, late]) device.end()
  })
})

describe('connections that never send a request', () => {
  it('S4: displace only connections of their own address', async () => {
    const { log, named } = capturedLog()
    await using small = await testHub({ maxDescriptors: 128 }, log)
    const { port } = small.address
    let closed = 0
    const silent = Array.from({ length: 100 }, () =>
      connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
        .on('error', () => {})
        .once('close', () => closed++)
        .resume(),
    )
    await expect.poll(() => closed).toBe(68)
    expect((await fetch(`${small.url}/healthz`)).status).toBe(200)
    const { token } = await small.fleet()
    await using device = await connectDevice({ url: small.url, token })
    expect(device.deviceId).toMatch(/^d_/)
    // For each connection from 127.0.0.1 above, the hub closed the newest connection of the flood from 127.0.0.2.
    expect(closed).toBeGreaterThan(68)
    expect(closed).toBeLessThan(90)
    expect(named('too many connections without a request')).toMatchObject([{ max: 32, remote: '127.0.0.2' }])
    for (const socket of silent) socket.destroy()
  })

  it('S4: are distinguished from connections that sent one, also under TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-tls-'))
    const { certificatePem, keyPem } = await deviceIdentity()
    const tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') }
    await writeFile(tls.certPath, certificatePem)
    await writeFile(tls.keyPath, keyPem!)
    await using secure = await testHub({ tls, maxDescriptors: 64, publicUrl: 'https://localhost' })
    const agent = new HttpsAgent({ keepAlive: true, rejectUnauthorized: false })
    const ask = async (): Promise<Socket> => {
      const asked = get({ agent, host: '127.0.0.1', port: secure.address.port, path: '/healthz' })
      const [response] = await once(asked, 'response')
      response.resume()
      return response.socket
    }
    // Only 16 connections without a request are allowed. These 30 connections have each sent a request, so they stay open.
    const sockets: Socket[] = []
    for (let round = 0; round < 3; round++)
      sockets.push(...(await Promise.all(Array.from({ length: 10 }, ask))))
    expect(sockets.filter(socket => socket.destroyed)).toEqual([])
    agent.destroy()
    await rm(folder, { recursive: true })
  })
})

it('S4: reads the limit of open files of this process', () => {
  const descriptors = processDescriptors()
  expect(Number.isSafeInteger(descriptors)).toBe(true)
  expect(descriptors).toBeGreaterThanOrEqual(256)
})

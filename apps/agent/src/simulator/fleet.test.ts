import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { FakeHub } from '../testing/fake-hub.ts'
import { ChannelStream } from './channel-stream.ts'
import { simulateFleet } from './fleet.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`

describe('simulateFleet', () => {
  it('connects every device, publishes its properties, and leaves no open connection', async () => {
    await using hub = await FakeHub.start()
    const fleet = simulateFleet({
      hubUrl: hub.url,
      token: TOKEN,
      count: 40,
      seed: 'fleet',
      hasOutages: false,
      parallelConnects: 4,
    })
    await fleet.allConnected
    expect(fleet.stats).toMatchObject({
      count: 40,
      connected: 40,
      everConnected: 40,
      connects: 40,
      refused: 0,
      failed: 0,
      lost: 0,
    })
    expect(fleet.stats.allConnectedAfterMs).toBeGreaterThanOrEqual(0)
    await expect.poll(() => fleet.stats.properties).toBeGreaterThanOrEqual(200)
    const names = hub.callsOf('devices_SetProperty').map(call => call.input.name)
    for (const name of [
      'dev.nexigon.system.info',
      'dev.nexigon.ota.status',
      'dev.nexigon.system.health',
      'app.config',
    ]) {
      expect(names.filter(each => each === name).length).toBeGreaterThanOrEqual(40)
    }
    expect(fleet.devices.map(device => device.hostname)).toHaveLength(40)
    await fleet[Symbol.asyncDispose]()
    expect(fleet.stats).toMatchObject({ connected: 0, lost: 0 })
    await expect.poll(() => hub.connections.every(({ link }) => !link.isOpen)).toBe(true)
  })

  it('simulates the same fleet at the next start', async () => {
    await using hub = await FakeHub.start()
    const identities = async () => {
      hub.requests.length = 0
      await using fleet = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 5, seed: 7 })
      await fleet.allConnected
      return hub.requests
        .map(headers => `${headers['x-device-fingerprint']} ${headers['x-client-cert']}`)
        .toSorted()
    }
    const first = await identities()
    expect(await identities()).toEqual(first)
    expect(new Set(first).size).toBe(5)
  })

  it('sends events that happened before it started, in bounded calls, each once', async () => {
    await using hub = await FakeHub.start()
    await using fleet = simulateFleet({
      hubUrl: hub.url,
      token: TOKEN,
      count: 2,
      historyHours: 2,
      hasOutages: false,
    })
    await expect.poll(() => fleet.stats.events).toBeGreaterThanOrEqual(238)
    const batches = hub
      .callsOf('devices_PublishEvents')
      .map(call => call.input.events as { eventId: string }[])
    expect(Math.max(...batches.map(batch => batch.length))).toBe(50)
    const ids = batches.flat().map(event => event.eventId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('keeps sending events as time passes', async () => {
    await using hub = await FakeHub.start()
    await using fleet = simulateFleet({
      hubUrl: hub.url,
      token: TOKEN,
      count: 3,
      eventsPerMinute: 1200,
      hasOutages: false,
    })
    await expect.poll(() => fleet.stats.events).toBeGreaterThan(60)
    expect(fleet.stats.events).toBeLessThan(600)
  })

  it('reconnects after the hub crashed', async () => {
    await using hub = await FakeHub.start()
    await using fleet = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 6, hasOutages: false })
    await fleet.allConnected
    hub.crash()
    await expect.poll(() => fleet.stats.connects).toBe(12)
    expect(fleet.stats).toMatchObject({ connected: 6, everConnected: 6, lost: 6 })
    expect(fleet.stats.lastProblem).toContain('a connection ended: TransportClosed')
  })

  it('counts refusals and keeps trying', async () => {
    await using hub = await FakeHub.start()
    hub.refusals.push({ status: 403, body: '{"kind":"Forbidden","message":"certificate is pending"}' })
    await using fleet = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 1 })
    await fleet.allConnected
    expect(fleet.stats).toMatchObject({ refused: 1, connects: 1 })
    expect(fleet.stats.lastProblem).toContain('accept it in the console')
  })

  it('continues when the hub refuses an action', async () => {
    await using hub = await FakeHub.start()
    hub.errors.devices_SetProperty = 'too large'
    await using fleet = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 1, historyHours: 1 })
    await expect.poll(() => fleet.stats.events).toBeGreaterThan(50)
    expect(fleet.stats).toMatchObject({
      connected: 1,
      properties: 0,
      lastProblem: 'devices_SetProperty: too large',
    })
    expect(fleet.stats.actionErrors).toBeGreaterThanOrEqual(5)
  })

  it('stops when its signal is aborted, even before the start and while the hub does not answer', async () => {
    await using hub = await FakeHub.start()
    const already = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 3, signal: AbortSignal.abort() })
    await already.ended
    await already.allConnected
    expect(hub.requests).toEqual([])
    const nowhere = simulateFleet({
      hubUrl: 'http://127.0.0.1:9',
      token: TOKEN,
      count: 3,
      signal: AbortSignal.timeout(100),
    })
    await nowhere.ended
    expect(nowhere.stats.connects).toBe(0)
  })

  it('serves a page from port 80 of every device, and nothing else', async () => {
    await using hub = await FakeHub.start()
    await using fleet = simulateFleet({ hubUrl: hub.url, token: TOKEN, count: 1, hasOutages: false })
    await fleet.allConnected
    const channel = await hub.link.open('forward/tcp/80')
    const page = await new Promise<string>((resolve, reject) => {
      const get = request({
        createConnection: () => new ChannelStream(channel),
        headers: { host: 'device', connection: 'close' },
      })
      get.on('error', reject)
      get.on('response', response => {
        let text = `${response.statusCode} `
        response.on('data', chunk => {
          text += String(chunk)
        })
        response.on('end', () => resolve(text))
      })
      get.end()
    })
    expect(page).toMatch(/^200 <!doctype html>/)
    expect(page).toContain(fleet.devices[0]!.hostname)
    await expect(hub.link.open('forward/tcp/22')).rejects.toThrow(
      'local TCP forwarding target is unavailable',
    )
    await expect(hub.link.open('terminal')).rejects.toThrow('unknown endpoint')
    await expect.poll(() => hub.link.channelCount).toBe(1)
  })

  it('refuses invalid numbers', () => {
    const base = { hubUrl: 'http://127.0.0.1:9', token: TOKEN }
    expect(() => simulateFleet({ ...base, count: 0 })).toThrow('count: found 0, expected an integer from 1')
    expect(() => simulateFleet({ ...base, count: 1, eventsPerMinute: 0 })).toThrow('rate: found 0')
  })
})

import { mkdir, readdir, readFile, rename, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { newDatedId } from '@muster/actions'
import { until } from '@muster/testkit/until'
import { afterEach, describe, expect, it } from 'vitest'
import { runAgent } from './agent.ts'
import { runCli } from './cli.ts'
import { systemClock } from './clock.ts'
import { type AgentConfig, configFromOptions, parseConfig } from './config.ts'
import { type EventOptions, emitEvent } from './emit.ts'
import { EventQueue, type EventQueueBounds } from './event-queue.ts'
import { parseJsonText } from './json-text.ts'
import { createLog } from './log.ts'
import { FakeHub } from './testing/fake-hub.ts'
import { instantClock } from './testing/instant-clock.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`
const NO_HUB = 'http://127.0.0.1:1'
const OPTIONS: EventOptions = {
  severity: 'info',
  category: undefined,
  attributes: {},
  emittedAt: undefined,
}

type Event = { eventId: string; body: unknown; emittedAt: string; category?: string; attributes: object }

const made: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of made.splice(0)) await one[Symbol.asyncDispose]()
})

/** A device with a data folder of its own. Its commands run in this process. */
async function newDevice(bounds?: EventQueueBounds) {
  const folder = await temporaryFolder()
  made.push(folder)
  const queue = join(folder.path, 'events')
  const lines: string[] = []
  const log = createLog({ level: 'debug', write: line => lines.push(line) })
  const configOf = (hub: string): AgentConfig => ({
    ...configFromOptions({ hub, token: TOKEN, data: folder.path }),
    ...(bounds && { eventQueue: bounds }),
  })
  return {
    queue,
    lines,
    data: folder.path,
    files: async () => (await readdir(queue)).sort(),
    async emit(hub: string, body: unknown, options = OPTIONS) {
      const json = parseJsonText(JSON.stringify(body))!
      const running = { signal: new AbortController().signal, log }
      return JSON.parse(await emitEvent(configOf(hub), json, options, running)) as {
        eventId: string
        queued?: true
      }
    },
    /** Puts events with the bodies 1 to `count` into the queue. */
    async fill(count: number) {
      const { dataDir, eventQueue } = configOf(NO_HUB)
      const events = new EventQueue(dataDir, eventQueue)
      for (let at = 1; at <= count; at++) {
        const eventId = newDatedId('d_ev')
        await events.add({ eventId, json: parseJsonText(JSON.stringify({ eventId, body: at }))! })
      }
    },
    /** Runs the agent until the end of the test. */
    run(hub: string, clock = systemClock) {
      const stop = new AbortController()
      const running = runAgent({
        ...configOf(hub),
        signal: stop.signal,
        log,
        clock,
        publishSystemInfo: false,
      })
      made.unshift({
        async [Symbol.asyncDispose]() {
          stop.abort()
          await running
        },
      })
    },
  }
}

const newHub = async (): Promise<FakeHub> => {
  const hub = await FakeHub.start()
  made.push(hub)
  return hub
}

/** Events that the hub has stored, in the order of their arrival. A real hub stores an event of a known id only once. */
function stored(hub: FakeHub): Event[] {
  const events = hub.callsOf('devices_PublishEvents').flatMap(({ input }) => input.events as Event[])
  return [...new Map(events.map(event => [event.eventId, event])).values()]
}
const bodies = (hub: FakeHub): unknown[] => stored(hub).map(({ body }) => body)

describe('an event that the hub cannot take', () => {
  it('is kept, and sent with its id and time, in order, when the agent connects', async () => {
    const device = await newDevice()
    const first = await device.emit(NO_HUB, 'first', { ...OPTIONS, emittedAt: '2026-01-02T03:04:05.678Z' })
    expect(first).toEqual({ eventId: expect.stringMatching(/^d_ev_/), queued: true })
    for (const body of ['second', 'third']) await device.emit(NO_HUB, body)
    expect(await device.files()).toHaveLength(3)
    expect(device.lines.at(-1)).toMatch(/ECONNREFUSED.*; the event is in the queue and will be sent later\n$/)
    const hub = await newHub()
    device.run(hub.url)
    await until('the queue is empty', async () => (await device.files()).length === 0)
    expect(bodies(hub)).toEqual(['first', 'second', 'third'])
    expect(stored(hub)[0]).toMatchObject({ eventId: first.eventId, emittedAt: '2026-01-02T03:04:05.678Z' })
    expect(device.lines.join('')).toContain('sent 3 events from the queue')
  })

  it('is sent before the event of the next command', async () => {
    const device = await newDevice()
    await device.emit(NO_HUB, 'first')
    const hub = await newHub()
    expect(await device.emit(hub.url, 'second')).not.toHaveProperty('queued')
    expect(bodies(hub)).toEqual(['first', 'second'])
    expect(await device.files()).toEqual([])
  })

  it('is sent by an agent that is connected already', async () => {
    const hub = await newHub()
    const device = await newDevice()
    device.run(hub.url, instantClock())
    await until('it is connected', () => hub.connections.length > 0)
    await device.emit(NO_HUB, 'late')
    await until('it is sent', () => bodies(hub).includes('late'))
  })

  it('is sent exactly as it was written', async () => {
    const hub = await newHub()
    const device = await newDevice()
    const cli = async (url: string, ...words: string[]) => {
      const argv = ['events', 'emit', ...words, '--hub', url, '--token', TOKEN, '--data', device.data]
      let out = ''
      const code = await runCli(argv, {
        out: text => {
          out += text
        },
        err() {},
        input: () => new PassThrough(),
        signal: new AbortController().signal,
        environment: {},
      })
      return { code, out }
    }
    expect(await cli(NO_HUB, '{"a":1.0,"b":12345678901234567890123}')).toEqual({
      code: 0,
      out: expect.stringMatching(/^\{"eventId":"d_ev_\S+","queued":true\}\n$/),
    })
    expect((await cli(hub.url, '2')).code).toBe(0)
    expect(hub.callsOf('devices_PublishEvents')[0]!.inputText).toContain(
      '"body":{"a":1.0,"b":12345678901234567890123}',
    )
  })

  it('is stored once when the answer of the hub is lost', async () => {
    const hub = await newHub()
    const device = await newDevice()
    hub.refuse = ({ name }) => {
      if (name === 'devices_PublishEvents') hub.crash()
      return undefined
    }
    const { eventId, queued } = await device.emit(hub.url, 'once')
    expect(queued).toBe(true)
    hub.refuse = () => undefined
    await device.emit(hub.url, 'next')
    const ids = hub
      .callsOf('devices_PublishEvents')
      .map(({ input }) => (input.events as Event[]).map(event => event.eventId))
    expect(ids).toEqual([[eventId], [eventId], [expect.any(String)]])
  })

  it.each([
    { status: 503, body: '' },
    { status: 429, body: '' },
    { status: 404, body: 'a captive portal' },
  ])('is kept when the connection is answered with $status', async refusal => {
    const hub = await newHub()
    const device = await newDevice()
    hub.refusals.push(refusal)
    expect(await device.emit(hub.url, 1)).toMatchObject({ queued: true })
  })

  it('is kept while the hub has no room for it', async () => {
    const hub = await newHub()
    const device = await newDevice()
    hub.refuse = ({ name }) =>
      name === 'devices_PublishEvents' ? { kind: 'Internal', message: 'short of disk space' } : undefined
    expect(await device.emit(hub.url, 1)).toMatchObject({ queued: true })
    expect(device.lines.at(-1)).toContain('short of disk space; the event is in the queue')
    expect(await device.emit(hub.url, 2)).toMatchObject({ queued: true })
    hub.refuse = () => undefined
    await device.emit(hub.url, 3)
    expect(bodies(hub)).toEqual([1, 2, 3])
  })

  it('fails when the hub refuses the event or the device, or when the event is too large', async () => {
    const hub = await newHub()
    const device = await newDevice()
    hub.errors.devices_PublishEvents = 'category: too long'
    await expect(device.emit(hub.url, 1)).rejects.toThrow('category: too long')
    for (const status of [401, 403]) {
      hub.refusals.push({ status })
      await expect(device.emit(hub.url, 1)).rejects.toThrow(`refused the connection with ${status}`)
    }
    await expect(device.emit(NO_HUB, 'x'.repeat(65_536))).rejects.toThrow(
      'found 65540 bytes of body and attributes, expected at most 65536',
    )
    expect(await readdir(device.data)).not.toContain('events')
  })

  it('fails in one line when it cannot be kept either', async () => {
    const device = await newDevice()
    await writeFile(device.queue, '')
    await expect(device.emit(NO_HUB, 1)).rejects.toThrow(
      /^event not sent \(.*ECONNREFUSED.*\) and not queued in \S+\/events: ENOTDIR[^\n]+$/,
    )
    const off = await newDevice({ maxEvents: 0, maxBytes: 1e6 })
    await expect(off.emit(NO_HUB, 1)).rejects.toThrow('expected at most 0 (event-queue in the configuration)')
  })
})

describe('a queue', () => {
  it('drops its oldest events when it is full, and reports their number in one event', async () => {
    const device = await newDevice({ maxEvents: 3, maxBytes: 1e6 })
    for (let at = 1; at <= 7; at++) await device.emit(NO_HUB, at)
    expect(await device.files()).toHaveLength(4)
    expect(device.lines.join('')).toContain('the queue is full; its oldest events were dropped: 1')
    const hub = await newHub()
    await device.emit(hub.url, 8)
    expect(bodies(hub)).toEqual([
      'Events that were dropped, because the queue on this device was full: 4',
      ...[5, 6, 7, 8],
    ])
    expect(stored(hub)[0]).toMatchObject({
      category: 'agent',
      severity: 'Warning',
      attributes: { dropped: 4 },
    })
  })

  it('has a bound in bytes', async () => {
    const device = await newDevice({ maxEvents: 1000, maxBytes: 4000 })
    for (let at = 1; at <= 4; at++) await device.emit(NO_HUB, `${at}${'x'.repeat(1500)}`)
    const hub = await newHub()
    await device.emit(hub.url, 'last')
    expect(stored(hub).map(({ body }) => String(body)[0])).toEqual(['E', '3', '4', 'l'])
    expect(stored(hub)[0]!.attributes).toEqual({ dropped: 2 })
  })

  it('keeps every event of commands that run at the same time as the agent', async () => {
    const device = await newDevice()
    const numbers = Array.from({ length: 40 }, (_, at) => at)
    await Promise.all(numbers.map(at => device.emit(NO_HUB, at)))
    const hub = await newHub()
    device.run(hub.url)
    device.run(hub.url)
    await Promise.all(numbers.slice(0, 10).map(at => device.emit(hub.url, at + 40)))
    await until('the queue is empty', async () => (await device.files()).length === 0)
    const found = bodies(hub) as number[]
    expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at))
  })

  it('sets damaged files aside, and removes what killed commands have left', async () => {
    const device = await newDevice()
    for (let at = 1; at <= 5; at++) await device.emit(NO_HUB, at)
    const files = (await device.files()).map(name => join(device.queue, name))
    await truncate(files[0]!)
    await writeFile(files[1]!, 'x'.repeat((await readFile(files[1]!)).length))
    await rename(files[2]!, files[2]!.replace(/d_ev_\d/, 'd_ev_9'))
    const unfinished = `${files[4]}.0b6ae3f5-61ab-4d5e-8a8e-4c5a6f7d1e20`
    await writeFile(unfinished, '{')
    await utimes(unfinished, 0, 0)
    await mkdir(join(device.queue, 'lost+found'))
    const hub = await newHub()
    await device.emit(hub.url, 6)
    expect(bodies(hub)).toEqual([4, 5, 6])
    expect(device.lines.filter(line => line.includes('found a damaged event in the queue'))).toHaveLength(3)
    expect((await device.files()).filter(name => name.endsWith('.json.damaged'))).toHaveLength(3)
    expect(await device.files()).toHaveLength(4)
  })

  it('sets aside what the hub refuses, and sends the rest', async () => {
    const device = await newDevice({ maxEvents: 10, maxBytes: 1e6 })
    for (let at = 1; at <= 9; at++) await device.emit(NO_HUB, at)
    const hub = await newHub()
    const taken: Event[] = []
    hub.refuse = ({ name, input }) => {
      if (name !== 'devices_PublishEvents') return undefined
      const events = input.events as Event[]
      if (events.some(({ body }) => body === 4)) return { kind: 'Invalid', message: 'too large' }
      // The hub has no room for this one at the moment.
      if (events.some(({ body }) => body === 7)) return { kind: 'Internal', message: 'try again later' }
      taken.push(...events)
      return undefined
    }
    await device.emit(hub.url, 10)
    expect(taken.map(({ body }) => body)).toEqual([1, 2, 3, 5, 6, 8, 9, 10])
    expect(device.lines.join('')).toMatch(
      /the hub refused event d_ev_\S+: too large; set aside as \S+\.refused\n/,
    )
    expect((await device.files()).map(name => name.replace(/.*\.json/, ''))).toEqual(['.refused', ''])
    hub.refuse = () => undefined
    await device.emit(hub.url, 11)
    const calls = hub.callsOf('devices_PublishEvents').slice(-2)
    expect(calls.map(({ input }) => (input.events as Event[])[0]!.body)).toEqual([7, 11])
    // What was set aside makes room first.
    for (let at = 1; at <= 10; at++) await device.emit(NO_HUB, at)
    expect((await device.files()).map(name => name.replace(/.*\.json/, ''))).toEqual(Array(10).fill(''))
  })

  it('waits when the hub can take nothing, without asking for each event', async () => {
    const device = await newDevice()
    await device.fill(30)
    const hub = await newHub()
    hub.refuse = ({ name }) =>
      name === 'devices_PublishEvents' ? { kind: 'RateLimited', message: 'try again later' } : undefined
    await device.emit(hub.url, 31)
    expect(hub.callsOf('devices_PublishEvents').length).toBeLessThan(12)
    expect(await device.files()).toHaveLength(31)
  })

  it('is sent in calls of at most 100 events', async () => {
    const device = await newDevice()
    await device.fill(120)
    const hub = await newHub()
    await device.emit(hub.url, 121)
    const sizes = hub.callsOf('devices_PublishEvents').map(({ input }) => (input.events as Event[]).length)
    expect(sizes).toEqual([100, 20, 1])
    expect(bodies(hub)).toEqual(Array.from({ length: 121 }, (_, at) => at + 1))
  })

  it('does not stop events that the hub takes when it cannot be read', async () => {
    const hub = await newHub()
    const device = await newDevice()
    await writeFile(device.queue, '')
    expect(await device.emit(hub.url, 1)).not.toHaveProperty('queued')
  })
})

it('has bounds that are configured', () => {
  const base = `hub-url = "https://h"\ntoken = "${TOKEN}"\nfingerprint-script = "f"\n[event-queue]\n`
  const { eventQueue } = parseConfig(`${base}max-events = 5\nmax-bytes = 131072`, '/a.toml')
  expect(eventQueue).toEqual({ maxEvents: 5, maxBytes: 131_072 })
  expect(() => parseConfig(`${base}max-bytes = 5`, '/a.toml')).toThrow(
    'event-queue.max-bytes: found 5, expected an integer from 131072 to 1073741824',
  )
})

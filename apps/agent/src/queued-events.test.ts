import { mkdir, readdir, readFile, rename, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { newDatedId } from '@muster/actions'
import { until } from '@muster/testkit/until'
import { afterEach, describe, expect, it } from 'vitest'
import { runAgent } from './agent.ts'
import { runCli } from './cli.ts'
import { type Clock, systemClock } from './clock.ts'
import { type AgentConfig, configFromOptions, parseConfig } from './config.ts'
import { type EventOptions, emitEvent } from './emit.ts'
import { EventQueue, type EventQueueBounds } from './event-queue.ts'
import { parseJsonText } from './json-text.ts'
import { createLog } from './log.ts'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`
const NO_HUB = 'http://127.0.0.1:1'
const OPTIONS: EventOptions = {
  severity: 'info',
  category: undefined,
  attributes: {},
  emittedAt: undefined,
}

/** Clock that shortens each pause to 20 ms. */
const BRIEF: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) }

type Event = { eventId: string; body: unknown; emittedAt: string; category?: string; attributes: object }

const made: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of made.splice(0)) await one[Symbol.asyncDispose]()
})

/** A device with a data folder of its own. Its commands run in this process. */
async function newDevice(bounds?: EventQueueBounds) {
  const folder = await temporaryFolder()
  made.push(folder)
  const lines: string[] = []
  const log = createLog({ level: 'debug', write: line => lines.push(line) })
  const configOf = (hub: string): AgentConfig => ({
    ...configFromOptions({ hub, token: TOKEN, data: folder.path }),
    ...(bounds && { eventQueue: bounds }),
  })
  const queueOf = (hub: string) => {
    const { dataDir, hubUrl, eventQueue } = configOf(hub)
    return new EventQueue(dataDir, hubUrl, eventQueue)
  }
  return {
    lines,
    data: folder.path,
    /** The queue of events for a hub. */
    queueOf,
    /** Names of the files in a queue, sorted. */
    files: async (hub: string) =>
      (await readdir(queueOf(hub).folder).catch(() => [])).filter(name => name.startsWith('0')).sort(),
    async emit(hub: string, body: unknown, options = OPTIONS) {
      const json = parseJsonText(JSON.stringify(body))!
      const running = { signal: new AbortController().signal, log }
      return JSON.parse(await emitEvent(configOf(hub), json, options, running)) as {
        eventId: string
        queued?: true
      }
    },
    /** Emits an event while the hub is away. */
    emitAway(hub: FakeHub, body: unknown, options = OPTIONS) {
      hub.refusals.push({ status: 503 })
      return this.emit(hub.url, body, options)
    },
    /** Puts events with the bodies 1 to `count` into the queue. */
    async fill(hub: string, count: number) {
      const events = queueOf(hub)
      for (let at = 1; at <= count; at++) {
        const eventId = newDatedId('d_ev')
        const json = parseJsonText(JSON.stringify({ eventId, body: at }))!
        await events.add({ eventId, json }, error => expect.fail(String(error)))
      }
    },
    /** Runs the agent until the end of the test. */
    run(hub: string) {
      const stop = new AbortController()
      const running = runAgent({
        ...configOf(hub),
        signal: stop.signal,
        log,
        clock: BRIEF,
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
    const hub = await newHub()
    const first = await device.emitAway(hub, 'first', { ...OPTIONS, emittedAt: '2026-01-02T03:04:05.678Z' })
    expect(first).toEqual({ eventId: expect.stringMatching(/^d_ev_/), queued: true })
    for (const body of ['second', 'third']) await device.emitAway(hub, body)
    expect(await device.files(hub.url)).toHaveLength(3)
    expect(device.lines.at(-1)).toMatch(/with 503; the event is in the queue and will be sent later\n$/)
    device.run(hub.url)
    await until('the queue is empty', async () => (await device.files(hub.url)).length === 0)
    expect(bodies(hub)).toEqual(['first', 'second', 'third'])
    expect(stored(hub)[0]).toMatchObject({ eventId: first.eventId, emittedAt: '2026-01-02T03:04:05.678Z' })
    expect(device.lines.join('')).toContain('sent 3 events from the queue')
  })

  it('is sent before the event of the next command', async () => {
    const device = await newDevice()
    const hub = await newHub()
    await device.emitAway(hub, 'first')
    expect(await device.emit(hub.url, 'second')).not.toHaveProperty('queued')
    expect(bodies(hub)).toEqual(['first', 'second'])
    expect(await device.files(hub.url)).toEqual([])
  })

  it('never goes to another hub', async () => {
    const device = await newDevice()
    const [hub, other] = [await newHub(), await newHub()]
    await device.emitAway(hub, 'first')
    await device.emit(other.url, 'second')
    expect(bodies(other)).toEqual(['second'])
    expect(await device.files(hub.url)).toHaveLength(1)
  })

  it('is sent by an agent that is connected already', async () => {
    const hub = await newHub()
    const device = await newDevice()
    device.run(hub.url)
    await until('it is connected', () => hub.connections.length > 0)
    await device.emitAway(hub, 'late')
    await until('it is sent', () => bodies(hub).includes('late'))
  })

  it('is sent exactly as it was written', async () => {
    const hub = await newHub()
    const device = await newDevice()
    const cli = async (...words: string[]) => {
      const argv = ['events', 'emit', ...words, '--hub', hub.url, '--token', TOKEN, '--data', device.data]
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
    // The hub does not count the space.
    const body = `{"a":1.0,"b":12345678901234567890123${' '.repeat(65_536)}}`
    hub.refusals.push({ status: 503 })
    expect(await cli(body)).toEqual({
      code: 0,
      out: expect.stringMatching(/^\{"eventId":"d_ev_\S+","queued":true\}\n$/),
    })
    expect((await cli('2')).code).toBe(0)
    expect(hub.callsOf('devices_PublishEvents')[0]!.inputText).toContain(`"body":${body},`)
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
    await writeFile(join(device.data, 'events'), '')
    await expect(device.emit(NO_HUB, 1)).rejects.toThrow(
      /^event not sent \(.*ECONNREFUSED.*\) and not queued in \S+\/events\/\w+: ENOTDIR[^\n]+$/,
    )
    const off = await newDevice({ maxEvents: 0, maxBytes: 1e6 })
    await expect(off.emit(NO_HUB, 1)).rejects.toThrow('the queue is off (event-queue.max-events = 0)')
  })
})

describe('a queue', () => {
  it('drops its oldest events when it is full, and reports their number in one event', async () => {
    const device = await newDevice({ maxEvents: 3, maxBytes: 1e6 })
    const hub = await newHub()
    for (let at = 1; at <= 7; at++) await device.emitAway(hub, at)
    expect(await device.files(hub.url)).toHaveLength(4)
    expect(device.lines.join('')).toContain('the queue is full; its oldest events were dropped: 1')
    await device.emit(hub.url, 8)
    expect(bodies(hub)).toEqual([
      'Events that were dropped, because the queue on this device was full: up to 4',
      ...[5, 6, 7, 8],
    ])
    expect(stored(hub)[0]).toMatchObject({
      category: 'agent',
      severity: 'Warning',
      attributes: { dropped: 4 },
    })
  })

  it('reports at least what commands that run at the same time have dropped', async () => {
    const device = await newDevice({ maxEvents: 3, maxBytes: 1e6 })
    const hub = await newHub()
    await Promise.all(Array.from({ length: 12 }, (_, at) => device.emitAway(hub, at)))
    const reported = (await device.files(hub.url)).map(name => Number(name.split('-')[2]))
    expect(reported.filter(dropped => dropped === 0)).toHaveLength(3)
    expect(reported.reduce((sum, dropped) => sum + dropped)).toBeGreaterThanOrEqual(9)
  })

  it('has stored the event when the oldest one cannot be dropped', async () => {
    const device = await newDevice({ maxEvents: 1, maxBytes: 1e6 })
    const hub = await newHub()
    // A folder cannot be unlinked.
    await mkdir(join(device.queueOf(hub.url).folder, '000000000001-5-0-d_ev_1.json'), { recursive: true })
    expect(await device.emitAway(hub, 1)).toMatchObject({ queued: true })
    expect(device.lines.join('')).toContain('the queue is larger than its bounds: ')
    const dropped = (await device.files(hub.url)).map(name => name.split('-')[2])
    expect(dropped.sort()).toEqual(['0', '0', '1'])
  })

  it('has a bound in bytes', async () => {
    const device = await newDevice({ maxEvents: 1000, maxBytes: 4000 })
    const hub = await newHub()
    for (let at = 1; at <= 4; at++) await device.emitAway(hub, `${at}${'x'.repeat(1500)}`)
    await device.emit(hub.url, 'last')
    expect(stored(hub).map(({ body }) => String(body)[0])).toEqual(['E', '3', '4', 'l'])
    expect(stored(hub)[0]!.attributes).toEqual({ dropped: 2 })
  })

  it('keeps every event of commands that run at the same time as the agent', async () => {
    const device = await newDevice()
    const hub = await newHub()
    const numbers = Array.from({ length: 40 }, (_, at) => at)
    await Promise.all(numbers.map(at => device.emitAway(hub, at)))
    device.run(hub.url)
    device.run(hub.url)
    await Promise.all(numbers.slice(0, 10).map(at => device.emit(hub.url, at + 40)))
    await until('the queue is empty', async () => (await device.files(hub.url)).length === 0)
    const found = bodies(hub) as number[]
    expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at))
  })

  it('sets damaged files aside, and removes what killed commands have left', async () => {
    const device = await newDevice()
    const hub = await newHub()
    for (let at = 1; at <= 5; at++) await device.emitAway(hub, at)
    const { folder } = device.queueOf(hub.url)
    const files = (await device.files(hub.url)).map(name => join(folder, name))
    await truncate(files[0]!)
    await writeFile(files[1]!, 'x'.repeat((await readFile(files[1]!)).length))
    await rename(files[2]!, files[2]!.replace(/d_ev_\d/, 'd_ev_9'))
    const unfinished = `${files[4]}.0b6ae3f5-61ab-4d5e-8a8e-4c5a6f7d1e20`
    await writeFile(unfinished, '{')
    await utimes(unfinished, 0, 0)
    await mkdir(join(folder, 'lost+found'))
    await device.emit(hub.url, 6)
    expect(bodies(hub)).toEqual([4, 5, 6])
    expect(device.lines.filter(line => line.includes('found a damaged event in the queue'))).toHaveLength(3)
    expect((await device.files(hub.url)).map(name => name.replace(/.*\.json/, ''))).toEqual(
      Array(3).fill('.damaged'),
    )
  })

  it('sets aside what the hub refuses, and sends the rest', async () => {
    const device = await newDevice()
    const hub = await newHub()
    await device.fill(hub.url, 9)
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
    expect(await device.emit(hub.url, 10)).toMatchObject({ queued: true })
    expect(taken.map(({ body }) => body)).toEqual([1, 2, 3])
    device.run(hub.url)
    await until('the others are sent', () => taken.length === 8)
    expect(new Set(taken.map(({ body }) => body))).toEqual(new Set([1, 2, 3, 5, 6, 8, 9, 10]))
    expect(device.lines.join('')).toMatch(
      /the hub refused event d_ev_\S+: too large; set aside as \S+\.refused\n/,
    )
    hub.refuse = () => undefined
    await until('only the refused one is left', async () => (await device.files(hub.url)).length === 1)
    expect(await device.files(hub.url)).toEqual([expect.stringMatching(/\.json\.refused$/)])
  })

  it('drops first what was set aside', async () => {
    const device = await newDevice({ maxEvents: 3, maxBytes: 1e6 })
    const hub = await newHub()
    await device.emitAway(hub, 1)
    hub.errors.devices_PublishEvents = 'too large'
    await expect(device.emit(hub.url, 2)).rejects.toThrow('too large')
    expect(await device.files(hub.url)).toEqual([expect.stringMatching(/\.json\.refused$/)])
    for (let at = 1; at <= 3; at++) await device.emitAway(hub, at)
    expect((await device.files(hub.url)).map(name => name.replace(/.*\.json/, ''))).toEqual(['', '', ''])
  })

  it.each(['RateLimited', 'Internal', 'Forbidden'] as const)(
    'waits after one call when the hub answers %s',
    async kind => {
      const device = await newDevice()
      const hub = await newHub()
      await device.fill(hub.url, 30)
      hub.refuse = ({ name }) =>
        name === 'devices_PublishEvents' ? { kind, message: 'try again later' } : undefined
      expect(await device.emit(hub.url, 31)).toMatchObject({ queued: true })
      expect(hub.callsOf('devices_PublishEvents')).toHaveLength(1)
      const files = await device.files(hub.url)
      expect(files.map(name => name.replace(/.*\.json/, ''))).toEqual(Array(31).fill(''))
    },
  )

  it('is sent in calls of at most 100 events', async () => {
    const device = await newDevice()
    const hub = await newHub()
    await device.fill(hub.url, 120)
    // A command sends one batch, so its own event waits behind the rest.
    expect(await device.emit(hub.url, 121)).toMatchObject({ queued: true })
    expect(await device.emit(hub.url, 122)).not.toHaveProperty('queued')
    const sizes = hub.callsOf('devices_PublishEvents').map(({ input }) => (input.events as Event[]).length)
    expect(sizes).toEqual([100, 21, 1])
    expect(bodies(hub)).toEqual(Array.from({ length: 122 }, (_, at) => at + 1))
  })

  it('does not stop events that the hub takes when it cannot be read', async () => {
    const hub = await newHub()
    const device = await newDevice()
    await writeFile(join(device.data, 'events'), '')
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

import { type ActionInput, type ActionOutput, MAX_EVENT_BYTES, newDatedId, newId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import {
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  connectPerson,
  deviceRow,
  type FakeDevice,
  failed,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

type EventInput = ActionInput<'devices_PublishEvents'>['events'][number]

let hub: TestHub
let owner: TestUser
let device: FakeDevice
let deviceId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ;({ owner, projectId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
  // Times long before the first sight of a device are implausible. Most tests use fixed times.
  await hub.db.updateTable('device').set({ first_seen: '2025-06-01T00:00:00Z' }).execute()
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await hub.db.deleteFrom('device_event').execute()
  await clearAudit(hub)
})

function event(values: Partial<EventInput> = {}): EventInput {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info',
    body: 'hello',
    attributes: {},
    emittedAt: new Date().toISOString(),
    ...values,
  }
}

function daysLater(days: number): string {
  return new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString()
}

function publish(...events: unknown[]): Promise<unknown> {
  return device.invoke('devices_PublishEvents', { deviceId, events })
}

async function eventsNow(input: { limit?: number; cursor?: string } = {}) {
  return owner.invoke('devices_QueryEvents', { deviceId, ...input })
}

async function bodies(): Promise<unknown[]> {
  return (await eventsNow()).events.map(({ body }) => body)
}

describe('devices_PublishEvents', () => {
  it('stores the events of a device with the time of receipt, and notifies open consoles', async () => {
    await using console = await liveStream(hub, owner)
    const sent = event({
      category: 'ota',
      severity: 'Warning',
      body: { step: 1, of: null },
      attributes: { path: 'repo/pkg/stable', deep: { a: [1] } },
      emittedAt: '2026-11-21T12:03:04.123456789Z',
    })
    expect(await publish(sent)).toEqual({})
    const { events } = await eventsNow()
    expect(events).toEqual([
      { ...sent, emittedAt: '2026-11-21T12:03:04.123Z', receivedAt: expect.any(String) },
    ])
    expect(await auditRows(hub)).toEqual([])
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'events' && change.deviceId === deviceId),
    )
  })

  it('omits an absent category', async () => {
    for (const category of [undefined, null, '']) await publish(event({ category } as never))
    for (const stored of (await eventsNow()).events) expect(stored).not.toHaveProperty('category')
  })

  it.each(['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical'] as const)(
    'accepts the severity %s',
    async severity => {
      await publish(event({ severity }))
      expect((await eventsNow()).events).toMatchObject([{ severity }])
    },
  )

  it.each([null, 0, '', false, [], {}, '\u0000', '\ud800', 'é漢😀', { '': [null] }])(
    'accepts the body %j',
    async body => {
      await publish(event({ body, attributes: { body } }))
      const [stored] = (await eventsNow()).events
      expect(stored?.body).toEqual(body)
      expect(stored?.attributes).toEqual({ body })
    },
  )

  it.each([
    '18446744073709551615',
    '-9223372036854775808',
    '0.12345678901234567890',
    '1234567890.0987654321',
    '1e400',
    '-2E-500',
    '[1,{"n":9007199254740993}]',
  ])('returns %s exactly as it was sent', async text => {
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
    const body = text.startsWith('[') ? [1, { n: rawJSON('9007199254740993') }] : rawJSON(text)
    const attributes = { serial: body, unit: 'bytes' }
    await publish(event({ body: 'another' }), event({ body, attributes }))
    await owner.invoke('devices_PublishEvents', { deviceId, events: [event({ body, attributes })] })
    const answer = await fetch(`${hub.url}/api/v1/actions/invoke/devices_QueryEvents`, {
      method: 'POST',
      headers: { cookie: owner.cookie, origin: hub.url, 'content-type': 'application/json' },
      body: JSON.stringify({ deviceId }),
    })
    const whole = `"body":${text},"attributes":{"serial":${text},"unit":"bytes"}`
    expect((await answer.text()).split(whole)).toHaveLength(3)
  })

  it('stores an event once when it is repeated in a call, in another call or by a person', async () => {
    const one = event({ body: 'first' })
    await publish(one)
    await publish({ ...one, body: 'twice in a call' }, { ...one, body: 'twice in a call' })
    await publish({ ...one, body: 'again', emittedAt: '2020-01-01T00:00:00Z' })
    await owner.invoke('devices_PublishEvents', { deviceId, events: [{ ...one, body: 'by a person' }] })
    expect(await bodies()).toEqual(['first'])
  })

  it.each([
    [0, 3],
    [3, 0],
    [3, 5],
    [2, -400, 1],
  ])('stores an event once when it is sent with times %i and %i days from today', async (...days) => {
    const one = event()
    for (const [at, late] of days.entries())
      await publish({ ...one, body: at, emittedAt: daysLater(late) }, event({ body: 'other' }))
    expect((await bodies()).filter(body => body !== 'other')).toEqual([0])
    // Events that a person publishes are stored by a different SQL statement than events that the device publishes. The test covers
    // both.
    const events = days.map(late => ({ ...one, body: 'by a person', emittedAt: daysLater(late) }))
    await owner.invoke('devices_PublishEvents', { deviceId, events })
    expect((await bodies()).filter(body => body !== 'other')).toEqual([0])
    await hub.db.deleteFrom('device_event').execute()
    await publish(...events)
    expect(await bodies()).toEqual(['by a person'])
    expect(await eventsNow({ limit: 1 })).not.toHaveProperty('nextCursor')
  })

  it('keeps attributes of any name, such as `__proto__`', async () => {
    const attributes = '{"b":1,"__proto__":{"a":[1]},"constructor":null,"":{"__proto__":2}}'
    await publish(event({ attributes: JSON.parse(attributes) }))
    expect(JSON.stringify((await eventsNow()).events[0]!.attributes)).toBe(attributes)
  })

  it.each([[undefined], [null], [[]], ['text'], [1]])('refuses %j as attributes', async attributes => {
    await expect(publish({ ...event(), attributes })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('events.0.attributes: expected an object'),
    })
  })

  it('stores events of two devices with the same id separately', async () => {
    const other = await deviceRow(hub, projectId)
    const one = event()
    await publish(one)
    await owner.invoke('devices_PublishEvents', { deviceId: other, events: [{ ...one, body: 'other' }] })
    expect(await bodies()).toEqual(['hello'])
    const { events } = await owner.invoke('devices_QueryEvents', { deviceId: other })
    expect(events).toMatchObject([{ eventId: one.eventId, body: 'other' }])
  })

  it('accepts 0 to 1,000 events in a call', async () => {
    expect(await publish()).toEqual({})
    await publish(...Array.from({ length: 1000 }, () => event()))
    expect((await eventsNow({ limit: 1000 })).events).toHaveLength(1000)
    await expect(publish(...Array.from({ length: 1001 }, () => event()))).rejects.toMatchObject({
      kind: 'Invalid',
    })
  })

  it('accepts up to 64 KiB of body and attributes together', async () => {
    const body = 'x'.repeat(MAX_EVENT_BYTES - 2 - 2)
    await publish(event({ body }))
    const tooLarge = {
      kind: 'Invalid',
      message: expect.stringContaining(`at most ${MAX_EVENT_BYTES} are stored`),
    }
    await expect(publish(event({ body: `${body}x` }))).rejects.toMatchObject(tooLarge)
    await expect(publish(event({ body, attributes: { a: 1 } }))).rejects.toMatchObject(tooLarge)
    await expect(publish(event({ body: '漢'.repeat(MAX_EVENT_BYTES / 3 + 1) }))).rejects.toMatchObject(
      tooLarge,
    )
  })

  it('stores all events of a call or none', async () => {
    await expect(publish(event(), event({ body: 'x'.repeat(MAX_EVENT_BYTES) }))).rejects.toMatchObject({
      kind: 'Invalid',
    })
    await expect(publish(event(), event({ severity: 'Fatal' as never }))).rejects.toMatchObject({
      kind: 'Invalid',
    })
    expect(await bodies()).toEqual([])
  })

  it.each([
    ['d_ev_00000000-0000-11111111'],
    ['d_ev_00010101-0000-11111111'],
    ['d_ev_19700101-0000-11111111'],
    ['d_ev_20260230-2561-11111111'],
    ['d_ev_20261399-9999-11111111'],
    ['d_ev_99991231-2359-11111111'],
    ['d_ev_99999999-9999-11111111'],
  ])('stores an event once although its id has an implausible date: %s', async eventId => {
    await publish(event({ eventId }))
    await publish(event({ eventId }))
    expect((await eventsNow()).events).toMatchObject([{ eventId }])
  })

  it.each([
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59.999999Z', '0099-12-31T23:59:59.999Z'],
    ['1969-12-31T23:59:59.999999999Z', undefined],
    ['9999-12-31T23:59:58Z', '9999-12-31T23:59:58.000Z'],
    ['2026-11-21T12:03:04.999999999+05:30', undefined],
  ])('stores and returns an event with an implausible time: %s', async (emittedAt, read) => {
    await publish(event({ emittedAt }))
    const [stored] = (await eventsNow()).events
    expect(Date.parse(stored!.emittedAt)).toBeGreaterThanOrEqual(Date.parse(emittedAt) - 1)
    expect(Date.parse(stored!.emittedAt)).toBeLessThanOrEqual(Date.parse(emittedAt) + 1)
    if (read) expect(stored!.emittedAt).toBe(read)
    // A first page of up to ten events is read by a different SQL query than other pages, so the test runs this query too.
    expect((await eventsNow({ limit: 1 })).events).toHaveLength(1)
  })

  it.each([
    '9999-12-31T23:59:59.9999999Z',
    '9999-12-31T23:59:59-15:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
  ])('refuses a time outside the years 1 to 9999 in UTC: %s', async emittedAt => {
    await expect(publish(event({ emittedAt }))).rejects.toMatchObject({ kind: 'Invalid' })
    expect((await eventsNow()).events).toEqual([])
  })

  it('is a command when a person calls it, stored in the transaction of its audit row', async () => {
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('devices_PublishEvents', { deviceId, events: [event()] })).toEqual({})
    expect(await bodies()).toEqual(['hello'])
    expect(await auditRows(hub)).toEqual([
      {
        action: 'devices_PublishEvents',
        actor: { actor: 'User', userId: owner.userId },
        data: { deviceId },
        status: 'Succeeded',
      },
    ])
    expect(await auditEvents(hub)).toEqual([])
    const { rows } = await hub.pool.query(
      'select a.xmin::text = e.xmin::text as "isSameTransaction" from audit_action a, device_event e',
    )
    expect(rows).toEqual([{ isSameTransaction: true }])
    await until('the live notice', () => console.changes.some(change => change.topic === 'events'))
    const tooLarge = owner.invoke('devices_PublishEvents', {
      deviceId,
      events: [event({ body: 'x'.repeat(MAX_EVENT_BYTES) })],
    })
    expect(await failed(tooLarge)).toMatchObject({ kind: 'Invalid' })
    expect((await auditRows(hub)).map(row => row.status)).toEqual(['Succeeded', 'Failed'])
  })
})

describe('devices_QueryEvents', () => {
  it('sorts events by time of emission, latest first', async () => {
    await publish(event({ body: 'second', emittedAt: '2026-01-02T00:00:00Z' }))
    await publish(event({ body: 'first', emittedAt: '2026-01-03T00:00:00Z' }))
    await publish(event({ body: 'third', emittedAt: '2026-01-01T00:00:00Z' }))
    expect(await bodies()).toEqual(['first', 'second', 'third'])
  })

  it('returns 100 events by default and at most 1,000', async () => {
    const at = (index: number): string => new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString()
    await publish(...Array.from({ length: 120 }, (_, index) => event({ body: index, emittedAt: at(index) })))
    expect(await eventsNow()).toMatchObject({ nextCursor: expect.any(String) })
    expect(await bodies()).toEqual(Array.from({ length: 100 }, (_, index) => 119 - index))
    expect((await eventsNow({ limit: 10 })).events.map(({ body }) => body)).toEqual([
      119, 118, 117, 116, 115, 114, 113, 112, 111, 110,
    ])
    const all = await eventsNow({ limit: 1000 })
    expect(all.events).toHaveLength(120)
    expect(all).not.toHaveProperty('nextCursor')
    for (const limit of [0, -1, 1001, 1.5, '10'])
      expect(await failed(eventsNow({ limit: limit as number }))).toMatchObject({ kind: 'Invalid' })
  })

  it('continues after the last event of a page, despite equal times and new events', async () => {
    const at = (index: number): string => `2026-01-01T00:00:0${Math.floor(index / 4)}.000000500Z`
    await publish(...Array.from({ length: 20 }, (_, index) => event({ body: index, emittedAt: at(index) })))
    const whole = (await eventsNow()).events.map(({ eventId }) => eventId)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await eventsNow({ limit: 3, ...(cursor && { cursor }) })
      seen.push(...page.events.map(({ eventId }) => eventId))
      cursor = page.nextCursor
      await publish(event({ body: 'new', emittedAt: '2026-06-01T00:00:00Z' }))
    } while (cursor)
    expect(seen).toEqual(whole)
  })

  it('ends a page early when events are large, and continues there', async () => {
    // The list begins with the newest event. The first 100 events have the largest size, and a page of 100 always fits into one
    // answer.
    const sizes = [...Array(100).fill(MAX_EVENT_BYTES - 4), ...Array(160).fill(30_000)] as number[]
    const sent = sizes.map((size, at) => event({ body: 'x'.repeat(size), emittedAt: daysLater(-at / 1000) }))
    await publish(...sent.slice(0, 100))
    await publish(...sent.slice(100))
    await using person = await connectPerson(hub.url, await hub.userToken(owner))
    const executor = new ExecutorClient(await person.open('executor'))
    const seen: string[][] = []
    for (let cursor: string | undefined; ; ) {
      const page = (await executor.invoke('devices_QueryEvents', {
        deviceId,
        limit: 1000,
        cursor,
      })) as ActionOutput<'devices_QueryEvents'>
      seen.push(page.events.map(({ eventId }) => eventId))
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    executor.close()
    expect(seen.map(page => page.length)).toEqual([100, 139, 21])
    expect(seen.flat()).toEqual(sent.map(({ eventId }) => eventId))
  })

  it('refuses the cursor of another list, and treats an empty one as absent', async () => {
    await publish(event())
    for (const cursor of ['x', Buffer.from('["-name","a","b"]').toString('base64url'), newId('d')])
      expect(await failed(eventsNow({ cursor }))).toMatchObject({ kind: 'Invalid' })
    expect((await eventsNow({ cursor: '' })).events).toHaveLength(1)
  })

  it('finds the latest events whatever their days', async () => {
    const at = (daysAgo: number): Date => new Date(Date.now() - daysAgo * 24 * 60 * 60 * 1000)
    const days = [0, 0.5, 1.2, 1.9, 2.5, 3, 6, 30, 80]
    const sent = days.map(daysAgo =>
      event({
        body: daysAgo,
        eventId: newDatedId('d_ev', at(daysAgo)),
        emittedAt: at(daysAgo).toISOString(),
      }),
    )
    // The id and the time of these events have different days, because the device's clock was set after the id was created.
    sent.push(event({ body: 0.1, eventId: newDatedId('d_ev', at(40)), emittedAt: at(0.1).toISOString() }))
    sent.push(event({ body: 20, eventId: newDatedId('d_ev'), emittedAt: at(20).toISOString() }))
    await publish(...sent)
    const latest = [...days, 0.1, 20].sort((one, other) => one - other)
    for (const limit of [1, 2, 3, 5, 7, 12, 100]) {
      const seen: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await eventsNow({ limit, ...(cursor && { cursor }) })
        seen.push(...page.events.map(({ body }) => body))
        cursor = page.nextCursor
      } while (cursor)
      expect(seen, `limit ${limit}`).toEqual(latest)
    }
  })

  describe('of a device with a wrong clock', () => {
    const YEARS = 365 * 24 * 60 * 60
    const late = (secs: number) => event({ emittedAt: new Date(Date.now() + secs * 1000).toISOString() })
    const dated = (secs: number, values: Partial<EventInput> = {}) => {
      const at = new Date(Date.now() + secs * 1000)
      return event({ eventId: newDatedId('d_ev', at), emittedAt: at.toISOString(), ...values })
    }

    /** Stores events as a hub without a rule for times does, `secsAgo` ago. */
    async function stored(secsAgo: number, ...events: EventInput[]): Promise<void> {
      for (const { eventId, severity, body, emittedAt } of events)
        await hub.pool.query(
          `insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at, received_at)
             values ($1, $2, $3, $4, $5, '{}', $6, now() - make_interval(secs => $7))`,
          [deviceId, eventId, eventId.slice(5, 13), severity, JSON.stringify(body), emittedAt, secsAgo],
        )
    }

    /** Reads the whole list in pages. */
    async function inPages(limit: number): Promise<unknown[]> {
      const seen: unknown[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await eventsNow({ limit, ...(cursor && { cursor }) })
        seen.push(...page.events.map(({ body }) => body))
        cursor = page.nextCursor
        if (cursor === undefined) return seen
      }
    }

    it('D3: ten events of a future year do not hide later ones, and events of 1970 are listed', async () => {
      await publish(dated(0, { body: 'before' }))
      for (let at = 0; at < 10; at++) await publish(dated(5 * YEARS + at, { body: `future ${at}` }))
      await publish(
        event({ body: 'past', emittedAt: '1970-01-01T00:00:09Z', eventId: 'd_ev_19700101-0000-11111111' }),
      )
      // Its time has milliseconds only, so in the same millisecond it would lie before the arrival of the event of 1970.
      await publish(dated(1, { body: 'after', severity: 'Critical' }))
      const expected = [
        'after',
        'past',
        ...Array.from({ length: 10 }, (_, at) => `future ${9 - at}`),
        'before',
      ]
      for (const limit of [1, 3, 10, 100, 1000])
        expect(await inPages(limit), `limit ${limit}`).toEqual(expected)
      const { events } = await eventsNow()
      expect(events[0]).not.toHaveProperty('clockErrorSecs')
      expect(events[1]!.clockErrorSecs).toBeLessThan(-50 * YEARS)
      expect(Math.round(events[2]!.clockErrorSecs! / YEARS)).toBe(5)
      const timeline = await owner.invoke('devices_QueryTimeline', { deviceId, filter: { kinds: ['event'] } })
      const entries = timeline.entries.filter(entry => entry.type === 'event')
      expect(entries.map(({ body }) => body)).toEqual(expected)
      expect(entries.map(({ at }) => at)).toEqual(
        events.map(one => (one.clockErrorSecs === undefined ? one.emittedAt : one.receivedAt)),
      )
      expect(entries[2]).toMatchObject({
        emittedAt: events[2]!.emittedAt,
        clockErrorSecs: events[2]!.clockErrorSecs,
      })
    })

    it('D3: stored events with implausible times are listed by their receipt', async () => {
      const future = Array.from({ length: 12 }, (_, at) => dated(5 * YEARS + at, { body: `future ${at}` }))
      await stored(7_200, dated(-7_200, { body: 'first' }))
      await stored(3_600, ...future)
      await stored(
        1_800,
        event({ body: 'past', emittedAt: '1970-01-01T00:00:09Z', eventId: 'd_ev_19700101-0000-22222222' }),
      )
      await stored(900, dated(60 * 60, { body: 'an hour ahead' }))
      await stored(600, dated(-600, { body: 'last', severity: 'Critical' }))
      for (const limit of [1, 2, 5, 10, 100, 1000]) {
        const seen = await inPages(limit)
        expect(seen.slice(0, 3), `limit ${limit}`).toEqual(['last', 'an hour ahead', 'past'])
        expect(seen.slice(3, -1).toSorted()).toEqual(future.map(({ body }) => body).toSorted())
        expect(seen.at(-1)).toBe('first')
      }
      const { events } = await eventsNow({ limit: 2 })
      expect(events[1]!.clockErrorSecs).toBeGreaterThan(3_600)
    })

    it('D3: a time is plausible from 30 days before the first sight to 5 minutes after the receipt', async () => {
      const other = await deviceRow(hub, projectId)
      const DAY = 24 * 60 * 60
      const sent = [4 * 60, 6 * 60, -29.5 * DAY, -30.5 * DAY].map(secs => late(secs))
      await owner.invoke('devices_PublishEvents', { deviceId: other, events: sent })
      const { events } = await owner.invoke('devices_QueryEvents', { deviceId: other })
      const wrong = events.filter(one => one.clockErrorSecs !== undefined).map(({ eventId }) => eventId)
      expect(wrong.toSorted()).toEqual([sent[1]!.eventId, sent[3]!.eventId].toSorted())
      await publish(late(-30.5 * DAY))
      expect((await eventsNow()).events[0]).not.toHaveProperty('clockErrorSecs')
    })

    it('D3: stores an event once whether its time was plausible when it was sent again', async () => {
      const one = dated(10 * 60, { body: 'first' })
      await publish(one)
      await publish({ ...one, body: 'again', emittedAt: new Date().toISOString() })
      await publish({ ...one, body: 'and again' })
      const stored = dated(0, { body: 'first' })
      await publish(stored)
      await publish({ ...stored, body: 'again', emittedAt: new Date(Date.now() + 600_000).toISOString() })
      expect(await bodies()).toEqual(['first', 'first'])
      const { rows } = await hub.pool.query(
        `select distinct tableoid::regclass::text as name from device_event where body::text = '"first"'`,
      )
      expect(rows).toContainEqual({ name: 'device_event_wrong_clock' })
    })
  })
})

import { newDatedId } from '@muster/actions'
import { ExecutorClient } from '@muster/link'
import {
  capturedLog,
  connectDevice,
  databaseSession,
  type FakeDevice,
  overPipeline,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const captured = capturedLog()
const hub = await testHub({}, captured.log)
afterAll(() => hub[Symbol.asyncDispose]())

/** The way that the calls of devices take. */
let way: 'lane' | 'pipeline' = 'lane'

const DAY_MS = 24 * 60 * 60 * 1000

function newEvent(body: unknown = 'x', at = new Date()) {
  return {
    eventId: newDatedId('d_ev', at),
    severity: 'Info',
    body,
    attributes: {},
    emittedAt: at.toISOString(),
  }
}

async function storedEvents(deviceIds: string[]) {
  return hub.db
    .selectFrom('device_event')
    .where('device_id', 'in', deviceIds)
    .select(['device_id', 'event_id', 'body'])
    .execute()
}

/** Number of transactions that wrote the events of these devices. */
async function transactionsOf(deviceIds: string[]): Promise<number> {
  await using session = await databaseSession(hub)
  const [row] = await session.query<{ count: string }>(
    'select count(distinct xmin::text) from device_event where device_id = any ($1)',
    [deviceIds],
  )
  return Number(row!.count)
}

async function fleetOf(count: number): Promise<{ owner: TestUser; devices: FakeDevice[] } & AsyncDisposable> {
  const { owner, token } = await hub.fleet()
  const connected = await Promise.all(
    Array.from({ length: count }, () => connectDevice({ url: hub.url, token })),
  )
  const devices = way === 'lane' ? connected : connected.map(overPipeline)
  return {
    owner,
    devices,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(devices.map(device => device[Symbol.asyncDispose]()))
    },
  }
}

function publish(device: FakeDevice, ...events: object[]): Promise<unknown> {
  return device.invoke('devices_PublishEvents', { deviceId: device.deviceId, events })
}

function set(device: FakeDevice, name: string, value: unknown): Promise<unknown> {
  return device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value })
}

/** Resolves when the hub has received everything that a device sent before: frames of all channels arrive in the order of sending. */
async function hasArrived({ link }: FakeDevice): Promise<void> {
  const executor = new ExecutorClient(await link.open('executor'))
  await executor.invoke('actor_GetActor', {})
  executor.close()
}

describe.each(['lane', 'pipeline'] as const)('over the %s', name => {
  beforeAll(() => {
    way = name
  })
  afterAll(() => {
    way = 'lane'
  })

  describe('an acknowledgement', () => {
    it.each(['device_event', 'device_property'])(
      'is sent after the data is durable: none while %s is locked',
      async table => {
        await using fleet = await fleetOf(1)
        const [device] = fleet.devices as [FakeDevice]
        await using session = await databaseSession(hub)
        await session.lock(table)
        let isAcknowledged = false
        const sent = (table === 'device_event' ? publish(device, newEvent()) : set(device, 'a', 1)).then(
          () => {
            isAcknowledged = true
          },
        )
        await session.waitingStatements(1)
        // While the table is locked, another device is served, but the data is not acknowledged.
        await using other = await connectDevice({
          url: hub.url,
          token: (await hub.fleet()).token,
        })
        await other.invoke('actor_GetActor', {})
        expect(isAcknowledged).toBe(false)
        await session.release()
        await sent
        const rows =
          table === 'device_event'
            ? await storedEvents([device.deviceId])
            : await hub.db
                .selectFrom('device_property')
                .where('device_id', '=', device.deviceId)
                .selectAll()
                .execute()
        expect(rows).toHaveLength(1)
      },
    )

    // `platform/database/server/embedded.test.ts` tests that the server forces commits to the disk.
    it('means that the data is committed synchronously', async () => {
      const { rows } = await hub.pool.query('show synchronous_commit')
      expect(rows).toEqual([{ synchronous_commit: 'on' }])
    })
  })

  describe('a batch', () => {
    it('collects events of many devices while the batch before is in flight', async () => {
      await using fleet = await fleetOf(40)
      const { devices } = fleet
      const ids = devices.map(({ deviceId }) => deviceId)
      await using session = await databaseSession(hub)
      await session.lock('device_event')
      const sent = devices.map(device => publish(device, newEvent(), newEvent()))
      await session.waitingStatements(1)
      await Promise.all(devices.map(hasArrived))
      await session.release()
      await Promise.all(sent)
      expect(await storedEvents(ids)).toHaveLength(80)
      expect(await transactionsOf(ids)).toBeLessThanOrEqual(6)
    })

    it('shares commits between devices that send continuously', async () => {
      await using fleet = await fleetOf(40)
      const { devices } = fleet
      const ids = devices.map(({ deviceId }) => deviceId)
      await Promise.all(
        devices.map(async device => {
          for (let n = 0; n < 25; n++) await publish(device, newEvent(n))
        }),
      )
      expect(await storedEvents(ids)).toHaveLength(1_000)
      const transactions = await transactionsOf(ids)
      process.stdout.write(`1,000 calls of 40 devices were ${transactions} transactions\n`)
      expect(transactions).toBeLessThan(500)
    })
  })

  describe('an event', () => {
    it('that is sent again does not keep the others in its batch from being stored', async () => {
      await using fleet = await fleetOf(10)
      const { devices } = fleet
      const ids = devices.map(({ deviceId }) => deviceId)
      const known = newEvent()
      await publish(devices[3]!, known)
      await using session = await databaseSession(hub)
      await session.lock('device_event')
      const sent = devices.map((device, at) => publish(device, newEvent(), ...(at === 3 ? [known] : [])))
      await session.waitingStatements(1)
      await Promise.all(devices.map(hasArrived))
      await session.release()
      await Promise.all(sent)
      expect(await storedEvents(ids)).toHaveLength(11)
    })

    it('that is sent again is acknowledged again and stored once', async () => {
      await using fleet = await fleetOf(2)
      const [device, other] = fleet.devices as [FakeDevice, FakeDevice]
      const events = [newEvent(1), newEvent(2), newEvent(3)]
      await publish(device, ...events)
      await publish(device, ...events)
      await publish(device, events[0]!, events[0]!, newEvent(4))
      const token = (await hub.token(fleet.owner, await projectOf(device))).token
      const again = await Promise.all(
        Array.from({ length: 4 }, () =>
          connectDevice({ url: hub.url, token, identity: device.identity, register: false }),
        ),
      )
      await Promise.all(again.map(connection => publish(connection, ...events, newEvent(5))))
      await Promise.all(again.map(connection => connection[Symbol.asyncDispose]()))
      const stored = await storedEvents([device.deviceId])
      expect(stored).toHaveLength(8)
      expect(new Set(stored.map(row => row.event_id)).size).toBe(8)
      // An event id is unique per device, so another device may use the same id.
      await publish(other, ...events)
      expect(await storedEvents([other.deviceId])).toHaveLength(3)
    })

    it.each([
      ['the second time late', [0, 3]],
      ['the first time late', [3, 0]],
      ['both times late', [3, 5]],
    ] as const)('that is sent twice at once is stored once, %s', async (_what, days) => {
      await using fleet = await fleetOf(1)
      const [{ deviceId, identity }] = fleet.devices as [FakeDevice]
      const { token } = await hub.token(fleet.owner, await projectOf(fleet.devices[0]!))
      const senders = await Promise.all(
        days.map(() => connectDevice({ url: hub.url, token, identity, register: false })),
      )
      const now = Date.now()
      const event = newEvent()
      const events = days.map(late => ({ ...event, emittedAt: new Date(now + late * DAY_MS).toISOString() }))
      await using session = await databaseSession(hub)
      await session.lock('device_event')
      const sent = [publish(senders[0]!, events[0]!)]
      await session.waitingStatements(1)
      // Sends a second batch and then a command of a person, each with an event that has the id of the first batch's event.
      sent.push(publish(senders[1]!, events[1]!, newEvent('new')))
      await session.waitingStatements(2)
      sent.push(fleet.owner.invoke('devices_PublishEvents', { deviceId, events: events as never }))
      await session.waitingStatements(3)
      await session.release()
      await Promise.all(sent)
      const stored = await fleet.owner.invoke('devices_QueryEvents', { deviceId })
      expect(stored.events.map(({ eventId }) => eventId).filter(id => id === event.eventId)).toHaveLength(1)
      expect(stored.events).toHaveLength(2)
      await Promise.all(senders.map(sender => sender[Symbol.asyncDispose]()))
    })

    it.each(['20000101', '19991231', '99991231', '20260230', '00000000', '20991231'])(
      'with the date %s in its id is stored once like any other',
      async day => {
        await using fleet = await fleetOf(1)
        const [device] = fleet.devices as [FakeDevice]
        const event = { ...newEvent(day), eventId: newDatedId('d_ev').replace(/\d{8}/, day) }
        await publish(device, event)
        await publish(device, event)
        const { events } = await fleet.owner.invoke('devices_QueryEvents', { deviceId: device.deviceId })
        expect(events).toMatchObject([{ eventId: event.eventId, body: day }])
      },
    )

    it('that cannot be stored fails alone', async () => {
      await using fleet = await fleetOf(20)
      const { devices } = fleet
      await using session = await databaseSession(hub)
      await session.lock('device_event')
      const bad = { ...newEvent(), category: 'nul \0 in it' }
      const sent = devices.map((device, index) => publish(device, newEvent(), ...(index === 7 ? [bad] : [])))
      const settled = Promise.allSettled(sent)
      await session.waitingStatements(1)
      await Promise.all(devices.map(hasArrived))
      await session.release()
      const results = await settled
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([results[7]])
      expect(results[7]).toMatchObject({ reason: { kind: 'Invalid' } })
      expect(await storedEvents(devices.map(({ deviceId }) => deviceId))).toHaveLength(19)
      expect(devices.every(({ link }) => link.isOpen)).toBe(true)
    })

    it.each([
      ['NUL', 'a\0b'],
      ['a lone surrogate', '\ud800'],
      ['the last code point', '\u{10ffff}'],
      ['a number that loses digits', 1e308],
      ['null', null],
      ['nested values', { a: [{ b: [null, true, 1.5, ''] }] }],
    ])('may have any body: %s', async (_what, body) => {
      await using fleet = await fleetOf(1)
      const [device] = fleet.devices as [FakeDevice]
      await publish(device, newEvent(body))
      const { events } = await fleet.owner.invoke('devices_QueryEvents', { deviceId: device.deviceId })
      expect(events).toMatchObject([{ body }])
    })

    async function projectOf({ deviceId }: FakeDevice): Promise<string> {
      const row = await hub.db
        .selectFrom('device')
        .where('device_id', '=', deviceId)
        .select('project_id')
        .executeTakeFirstOrThrow()
      return row.project_id
    }
  })

  describe('a property', () => {
    it('keeps the order of its writes, also when they share a batch', async () => {
      await using fleet = await fleetOf(12)
      await Promise.all(
        fleet.devices.map(async device => {
          // Calls on one channel keep their order. The calls do not wait for answers, so they share batches with calls of other
          // devices.
          const writes = Array.from({ length: 50 }, (_, index) => set(device, 'counter', index))
          await Promise.all(writes)
        }),
      )
      for (const { deviceId } of fleet.devices) {
        const { properties } = await fleet.owner.invoke('devices_QueryProperties', { deviceId })
        expect(properties.counter).toMatchObject({ value: 49, version: 50 })
        const history = await hub.db
          .selectFrom('device_property_change')
          .where('device_id', '=', deviceId)
          .select(['version', 'value'])
          .orderBy('version')
          .execute()
        expect(history.map(({ version, value }) => [version, value?.parse()])).toEqual(
          Array.from({ length: 50 }, (_, index) => [index + 1, index]),
        )
      }
    })

    it('continues its versions when it is removed while the next value waits', async () => {
      await using fleet = await fleetOf(1)
      const [device] = fleet.devices as [FakeDevice]
      const { deviceId } = device
      for (const value of [1, 2, 3]) await set(device, 'a', value)
      await using session = await databaseSession(hub)
      await session.query('begin')
      await session.query(`select from device_property where device_id = $1 for update`, [deviceId])
      const removed = fleet.owner.invoke('devices_RemoveProperty', { deviceId, name: 'a' })
      await session.waitingStatements(1)
      const written = set(device, 'a', 4)
      await session.waitingStatements(2)
      await session.release()
      expect(await removed).toEqual({ result: 'Removed' })
      await written
      const { properties } = await fleet.owner.invoke('devices_QueryProperties', { deviceId })
      expect(properties.a).toMatchObject({ value: 4, version: 5 })
    })

    it('written over several connections keeps every write, and ends with the last value of one of them', async () => {
      await using fleet = await fleetOf(1)
      const [device] = fleet.devices as [FakeDevice]
      const { deviceId, identity } = device
      const { project_id: projectId } = await hub.db
        .selectFrom('device')
        .where('device_id', '=', deviceId)
        .select('project_id')
        .executeTakeFirstOrThrow()
      const { token } = await hub.token(fleet.owner, projectId)
      const writers = await Promise.all(
        Array.from({ length: 5 }, () => connectDevice({ url: hub.url, token, identity, register: false })),
      )
      await using session = await databaseSession(hub)
      await session.lock('device_property')
      const first = set(device, 'shared', 'first')
      await session.waitingStatements(1)
      const writes = writers.flatMap((writer, index) =>
        Array.from({ length: 10 }, (_, round) => set(writer, 'shared', `${index}.${round}`)),
      )
      await session.release()
      await Promise.all([first, ...writes])
      const { properties } = await fleet.owner.invoke('devices_QueryProperties', { deviceId })
      expect(properties.shared).toMatchObject({ version: 51, value: expect.stringMatching(/^\d\.9$/) })
      const history = await hub.db
        .selectFrom('device_property_change')
        .where('device_id', '=', deviceId)
        .select(['version', 'value'])
        .orderBy('version')
        .execute()
      expect(history.map(({ version }) => version)).toEqual(
        Array.from({ length: 51 }, (_, index) => index + 1),
      )
      for (const index of writers.keys()) {
        const own = history
          .map(({ value }) => String(value?.parse()))
          .filter(value => value.startsWith(`${index}.`))
        expect(own).toEqual(Array.from({ length: 10 }, (_, round) => `${index}.${round}`))
      }
      await Promise.all(writers.map(writer => writer[Symbol.asyncDispose]()))
    })

    it('that is protected is refused alone, not the others in its batch', async () => {
      await using fleet = await fleetOf(5)
      const { owner, devices } = fleet
      const [guarded] = devices as [FakeDevice]
      const { deviceId } = guarded
      await owner.invoke('devices_SetProperty', { deviceId, name: 'a', value: 'kept', protected: true })
      await using session = await databaseSession(hub)
      await session.lock('device_property')
      const settled = Promise.allSettled(devices.map(device => set(device, 'a', 'new')))
      await session.waitingStatements(1)
      await Promise.all(devices.map(hasArrived))
      await session.release()
      const results = await settled
      expect(results.map(({ status }) => status)).toEqual([
        'rejected',
        'fulfilled',
        'fulfilled',
        'fulfilled',
        'fulfilled',
      ])
      expect(results[0]).toMatchObject({
        reason: { kind: 'Forbidden', message: 'The property "a" is protected.' },
      })
      const { properties } = await owner.invoke('devices_QueryProperties', { deviceId })
      expect(properties.a).toMatchObject({ value: 'kept', version: 1 })
    })

    it('is returned as it was written, for any JSON', async () => {
      await using fleet = await fleetOf(1)
      const [{ deviceId }] = fleet.devices as [FakeDevice]
      const { project_id: projectId } = await hub.db
        .selectFrom('device')
        .where('device_id', '=', deviceId)
        .select('project_id')
        .executeTakeFirstOrThrow()
      const caller = { actor: 'Device', deviceId, tokenId: 'x', projectId, organizationId: 'x' } as const
      const invoke = (name: string, input: string) => hub.pipeline.invoke(caller, name, input, 'test')
      const values = [
        '1e-20000',
        '-1E-99999',
        '1e999999',
        '1E+131072',
        '1e131073',
        '-0',
        '0.0',
        '1.50',
        `0.${'1'.repeat(20_000)}`,
        '9'.repeat(200_000),
        '"\\u0000"',
        '"\\ud800"',
        '"\\udc00"',
        '"\\ud83d\\ude00"',
        '"\\ud83d\\u0041"',
        '"\\\\ud800"',
        '"\\\\u0000"',
        '"\u2028\ufeff"',
        '[ ]',
        '{"a":1,"a":2}',
        `${'['.repeat(60)}${']'.repeat(60)}`,
        'null',
        ' true ',
        '{"\\u0000":1}',
        '{"\\udfff":[1e-17000]}',
      ]
      // Sends all values together, so that they share batches.
      const results = await Promise.all(
        values.map((value, index) =>
          invoke('devices_SetProperty', `{"deviceId":"${deviceId}","name":"p${index}","value":${value}}`),
        ),
      )
      expect(new Set(results)).toEqual(new Set(['{"result":"Set"}']))
      for (const [index, value] of values.entries()) {
        const found = await invoke('devices_GetProperty', `{"deviceId":"${deviceId}","name":"p${index}"}`)
        expect(found).toContain(`"value":${value.trim()},`)
      }
    })

    it('updates host name and health in the row of its device', async () => {
      await using fleet = await fleetOf(1)
      const [device] = fleet.devices as [FakeDevice]
      await set(device, 'dev.nexigon.system.info', { hostname: 'pump-7' })
      await set(device, 'dev.nexigon.system.health', { status: 'degraded' })
      const shown = await hub.db
        .selectFrom('device')
        .where('device_id', '=', device.deviceId)
        .select(['hostname', 'health'])
        .executeTakeFirstOrThrow()
      expect(shown).toEqual({ hostname: 'pump-7', health: 'degraded' })
    })
  })
})

describe('broken database connections', () => {
  it('do not bring back a property value that later writes replaced', async () => {
    await using fleet = await fleetOf(1)
    const [device] = fleet.devices as [FakeDevice]
    const { deviceId, identity } = device
    const { projectId } = hub.devices.get(deviceId)!
    const { token } = await hub.token(fleet.owner, projectId)
    const writers = await Promise.all(
      Array.from({ length: 3 }, () => connectDevice({ url: hub.url, token, identity, register: false })),
    )
    await using session = await databaseSession(hub)
    await using lockHolder = await databaseSession(hub)
    // A trigger makes the last of the four changes wait for an advisory lock.
    await session.query(`create function wait_for_lock() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(4); return new; end $$`)
    await session.query(`create trigger wait_for_lock before insert on device_property_change
      for each row when (new.name = 'shared' and new.version = 4) execute function wait_for_lock()`)
    await lockHolder.query('select pg_advisory_lock(4)')
    await session.lock('device_property')
    const first = set(device, 'shared', 'first')
    await session.waitingStatements(1)
    const writes = writers.map((writer, index) => set(writer, 'shared', index))
    // An answer over each connection shows that the hub has received the writes sent before.
    for (const { link } of writers)
      await new ExecutorClient(await link.open('executor')).invoke('actor_GetActor', {})
    await session.release()
    await session.waitingStatements(1)
    await lockHolder.terminateOthers()
    await lockHolder.query('select pg_advisory_unlock(4)')
    await Promise.all([first, ...writes])
    const { changes } = await fleet.owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'shared' })
    expect(changes.map(({ version }) => version)).toEqual([4, 3, 2, 1])
    expect(new Set(changes.map(({ value }) => value)).size).toBe(4)
    await hub.pool.query('drop trigger wait_for_lock on device_property_change')
  })

  it('lose no acknowledged data and disconnect no device', async () => {
    await using fleet = await fleetOf(20)
    const { devices } = fleet
    await using session = await databaseSession(hub)
    const acknowledged: string[] = []
    let isOver = false
    const sending = devices.map(async device => {
      for (let n = 0; n < 40 || !isOver; n++) {
        const event = newEvent(n)
        await publish(device, event)
        acknowledged.push(event.eventId)
        await set(device, 'n', n)
      }
    })
    let ended = 0
    for (let round = 1; round <= 10; round++) {
      const from = acknowledged.length
      // The hub may have no connection for a moment, between the end of the last one and the next statement.
      await until('connections to end', async () => {
        const endedNow = await session.terminateOthers()
        ended += endedNow
        return endedNow > 0
      })
      await until('acknowledgements go on', () => acknowledged.length >= from + 20)
    }
    isOver = true
    await Promise.all(sending)
    const stored = await storedEvents(devices.map(({ deviceId }) => deviceId))
    expect(new Set(stored.map(row => row.event_id))).toEqual(new Set(acknowledged))
    expect(stored).toHaveLength(acknowledged.length)
    expect(devices.every(({ link }) => link.isOpen)).toBe(true)
    expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
    process.stdout.write(`${ended} database connections ended, ${acknowledged.length} events acknowledged\n`)
  })
})

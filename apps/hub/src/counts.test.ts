import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ActionInput, BASE58, encodeRadix, newDatedId } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { MAGIC } from '@muster/link'
import { readPredicate } from '@muster/predicates'
import {
  connectDevice,
  type DatabaseSession,
  databaseSession,
  deviceIdentity,
  deviceRow,
  type RawDevice,
  rawDevice,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { PreparingClient } from './platform/database/client/preparing-client.ts'

// Counts on which the cost of a fleet depends, and which are the same on every machine. Times and ratios are in the benches.

let hub: TestHub
let session: DatabaseSession
beforeAll(async () => {
  hub = await testHub()
  session = await databaseSession(hub)
})
afterAll(async () => {
  await session[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

type DeviceFilters = ActionInput<'projects_QueryDeviceCounts'>['filters']
type Statement = { text: string; values: unknown[] }

/** Statements that the hub sends while `work` runs. */
async function sentDuring(work: () => Promise<unknown>): Promise<Statement[]> {
  const queries = vi.spyOn(PreparingClient.prototype, 'query')
  try {
    await work()
    return queries.mock.calls.map(([query, values]) =>
      typeof query === 'string'
        ? { text: query, values: values ?? [] }
        : { ...query, values: query.values ?? values },
    )
  } finally {
    queries.mockRestore()
  }
}

function newEvent() {
  const emittedAt = new Date().toISOString()
  return { eventId: newDatedId('d_ev'), severity: 'Info', body: 'hello', attributes: {}, emittedAt }
}

it('stores the events of a call with one statement, and those of many devices with few', async () => {
  const { token } = await hub.fleet()
  await using resources = new AsyncDisposableStack()
  const devices = await Promise.all(
    Array.from({ length: 40 }, async () => resources.use(await connectDevice({ url: hub.url, token }))),
  )
  const publish = ({ deviceId, invoke }: (typeof devices)[number], count: number) =>
    invoke('devices_PublishEvents', { deviceId, events: Array.from({ length: count }, newEvent) })
  const inserts = (statements: Statement[]) =>
    statements.filter(({ text }) => text.includes('insert into device_event')).length
  const inTurn = await sentDuring(async () => {
    for (const device of devices) await publish(device, 20)
  })
  expect(inserts(inTurn)).toBe(devices.length)
  // The others are work of the hub beside it, such as the times at which people were last seen.
  expect(inTurn.length).toBeLessThanOrEqual(1.5 * devices.length)
  const atOnce = await sentDuring(() => Promise.all(devices.map(device => publish(device, 1))))
  expect(inserts(atOnce)).toBeLessThanOrEqual(devices.length / 4)
})

it('stores events with one statement beside an export of another project, and those of the export too', async () => {
  const [exported, other] = [await hub.fleet(), await hub.fleet()]
  const { owner, projectId } = exported
  const config = { enabled: true, endpoint: 'https://203.0.114.7', headers: {} }
  await owner.invoke('projects_SetOtlpConfig', { projectId, config })
  await until('the node knows it', () => hub.services.ingest.exportsEventsOf(projectId))
  for (const [{ token }, keeps] of [
    [exported, true],
    [other, false],
  ] as const) {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId, invoke } = device
    const sent = await sentDuring(() =>
      invoke('devices_PublishEvents', { deviceId, events: Array.from({ length: 20 }, newEvent) }),
    )
    const inserts = sent.filter(({ text }) => text.includes('insert into device_event'))
    expect(inserts).toHaveLength(1)
    expect(inserts[0]!.text.includes('event_export')).toBe(keeps)
    if (!keeps) expect(sent.filter(({ text }) => text.includes('event_export'))).toHaveLength(0)
  }
  await owner.invoke('projects_SetOtlpConfig', { projectId, config: { enabled: false, headers: {} } })
})

it('ends a connection by its keys, and does not read all that are open', async () => {
  const { token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const isConnected = async (): Promise<boolean> => {
    const [row] = await session.query<{ is_connected: boolean }>(
      'select is_connected from device where device_id = $1',
      [deviceId],
    )
    return row!.is_connected
  }
  const sent = await sentDuring(async () => {
    await device[Symbol.asyncDispose]()
    await until('the device is shown as gone', async () => !(await isConnected()))
  })
  const { text } = sent.find(statement => /^\s*with closed as/.test(statement.text))!
  // The statistics are from a time without open connections, as after an outage.
  await session.query(
    `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
     select 'd_conn_' || i, $1, '', '', '', now(), now(), 'Disconnected' from generate_series(1, 20000) i`,
    [deviceId],
  )
  await session.query('analyze device_connection')
  const plan = await session.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`)
  const lines = plan.map(row => row['QUERY PLAN']).join('\n')
  expect(lines).toContain('device_connection_pkey')
  expect(lines).not.toContain('device_connection_open')
})

it('locks the partitions of a few days for the latest events, however many days have events', async () => {
  const { owner, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const latest = () => owner.invoke('devices_QueryEvents', { deviceId, limit: 10 })
  const few = await locksOf(await eventsStatement(latest))
  for (let daysAgo = 40; daysAgo < 80; daysAgo++) {
    const [from, to] = [daysAgo, daysAgo - 1].map(days =>
      new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10),
    )
    await session.query(
      `create table device_event_${from!.replaceAll('-', '')} partition of device_event for values from ('${from}') to ('${to}')`,
    )
  }
  const many = await locksOf(await eventsStatement(latest))
  expect(many).toBe(few)
  expect(many).toBeLessThanOrEqual(30)
})

it('counts the devices of a view once in 10 s for all who may see them, and apart in each project', async () => {
  // Clients of callers keep the method of the time at which they were made.
  using queries = vi.spyOn(PreparingClient.prototype, 'query')
  await using hub = await testHub()
  const [owner, colleague, stranger] = [await hub.user(), await hub.user(), await hub.user()]
  const organizationId = await hub.organization(owner, [colleague])
  const projectId = await hub.project(owner, organizationId)
  const otherProjectId = await hub.project(stranger, await hub.organization(stranger))
  await deviceRow(hub, projectId, { name: 'pump 1' })
  const filters: DeviceFilters = [{ predicate: readPredicate('device.name = "pump 1"') }, { text: 'pump' }]
  const counted = async (by: TestUser, input: Partial<ActionInput<'projects_QueryDeviceCounts'>> = {}) => {
    queries.mockClear()
    const whole = { projectId, filters, mayBeKept: true, ...input }
    const { counts } = await by.invoke('projects_QueryDeviceCounts', whole)
    const texts = queries.mock.calls.map(([query]) => (typeof query === 'string' ? query : query.text))
    return {
      counts,
      statements: texts.filter(text => text.startsWith('select count(*) as "count" from "device"')).length,
    }
  }
  expect(await counted(owner)).toEqual({ counts: [1, 1], statements: 2 })
  expect(await counted(colleague)).toEqual({ counts: [1, 1], statements: 0 })
  expect(await counted(colleague, { filters: [{ text: 'no such device' }, ...filters] })).toEqual({
    counts: [0, 1, 1],
    statements: 1,
  })
  // Another tenant shares nothing, neither in their own project nor in this one.
  expect(await counted(stranger, { projectId: otherProjectId })).toEqual({ counts: [0, 0], statements: 2 })
  await expect(counted(stranger)).rejects.toMatchObject({ kind: 'Forbidden' })
  // Counts beside a list agree with its rows.
  await deviceRow(hub, projectId, { name: 'pump 2' })
  expect(await counted(colleague, { mayBeKept: false })).toEqual({ counts: [1, 2], statements: 2 })
  expect(await counted(owner)).toEqual({ counts: [1, 1], statements: 0 })
  const later = performance.now() + 10_000
  using _ = vi.spyOn(performance, 'now').mockImplementation(() => later)
  expect(await counted(owner)).toEqual({ counts: [1, 2], statements: 2 })
})

it('writes a property with two statements of a transaction, which fire no trigger', async () => {
  const { token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId, invoke } = device
  const set = (value: unknown) => invoke('devices_SetProperty', { deviceId, name: 'device', value })
  await set({ serial: 'A1', floor: 1 })
  const statements = await sentDuring(() => set({ serial: 'A1', floor: 2 }))
  const ofProperties = statements.filter(({ text }) => text.includes('device_property'))
  expect(ofProperties).toHaveLength(2)
  const [write, history] = ofProperties
  expect(history!.text).toContain('insert into device_property_change')
  // The trigger that keeps labels fires for labels alone. A fired trigger would also be another statement and a row lock.
  expect(await firedTriggers(write!)).toEqual([])
})

/** Names of the triggers that a statement fires when it runs again. */
async function firedTriggers({ text, values }: Statement): Promise<string[]> {
  const client = await hub.pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ 'QUERY PLAN': RawJson }>(
      `explain (analyze, format json) ${text}`,
      values,
    )
    const [plan] = rows[0]!['QUERY PLAN'].parse() as [
      { Triggers: { 'Trigger Name': string; Calls: number }[] },
    ]
    return plan.Triggers.filter(({ Calls }) => Calls > 0).map(trigger => trigger['Trigger Name'])
  } finally {
    await client.query('rollback')
    client.release()
  }
}

async function eventsStatement(read: () => Promise<unknown>): Promise<Statement> {
  const statements = await sentDuring(read)
  return statements.find(({ text }) => text.includes('device_event'))!
}

/** Number of locks that a look-up takes with its generic plan. */
async function locksOf({ text, values }: Statement): Promise<number> {
  await session.query('set plan_cache_mode = force_generic_plan')
  await session.query(`prepare counted as ${text}`)
  await session.query('begin')
  await session.query(`execute counted (${values.map(value => `'${value}'`).join(', ')})`)
  const [row] = await session.query<{ count: number }>(
    `select count(*)::integer as count from pg_locks where pid = pg_backend_pid() and relation::regclass::text like '%device_event%'`,
  )
  await session.query('rollback')
  await session.query('deallocate counted')
  return row!.count
}

/** Counters of the calls by which this process has read and written. Linux only. */
const IO = '/proc/self/io'
const writes = () => Number(/^syscw: (\d+)/m.exec(readFileSync(IO, 'latin1'))![1])

it.skipIf(!existsSync(IO))('writes once for each Ping of a device', async () => {
  const { token } = await hub.fleet()
  await using resources = new AsyncDisposableStack()
  const devices: RawDevice[] = []
  for (let at = 0; at < 60; at++) devices.push(resources.use(await helloDevice(token)))
  const pongs = () => devices.flatMap(({ received }) => received.filter(({ type }) => type === 'Pong')).length
  const before = writes()
  // A device may send few Pings at once.
  for (let round = 1; round <= 5; round++) {
    for (const device of devices) device.send({ type: 'Ping' })
    await until('the hub answers', () => pongs() === round * devices.length)
  }
  // The test writes the Ping, the hub the Pong. A tenth is for the hub's other work.
  expect(writes() - before).toBeLessThanOrEqual(2.2 * 5 * devices.length)
})

async function helloDevice(token: string): Promise<RawDevice> {
  const fingerprint = `d_sk_${encodeRadix(createHash('sha512-256').update(randomBytes(32)).digest(), BASE58)}`
  const device = await rawDevice({ url: hub.url, token, identity: { ...(await shared), fingerprint } })
  device.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array() })
  return device
}
const shared = deviceIdentity()

it('holds few bytes for an idle connection', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const held = async (): Promise<number> => {
    for (let time = 0; time < 3; time++) {
      collectGarbage()
      await pause(100)
    }
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }
  const { token } = await hub.fleet()
  await using resources = new AsyncDisposableStack()
  const connect = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) resources.use(await helloDevice(token))
  }
  await connect(100)
  const before = await held()
  await connect(200)
  // 10 KiB at both ends, which are in this process.
  expect((await held()) - before).toBeLessThan(200 * 16 * 1024)
})

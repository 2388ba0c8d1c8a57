import { newDatedId } from '@muster/actions'
import {
  capturedLog,
  connectDevice,
  type FakeDevice,
  overPipeline,
  testHub,
  writeUpdate,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const KIB = 1024
const { limits } = loadConfig({})
const captured = capturedLog()
const hub = await testHub(
  {
    limits: {
      ...limits,
      'device-property-bytes-per-hour': 100 * KIB,
      'device-event-bytes-per-hour': 100 * KIB,
      'project-bytes-per-hour': 300 * KIB,
      'device-history-bytes': 40 * KIB,
      'device-event-bytes': 40 * KIB,
      'project-bytes': 150 * KIB,
      'organization-bytes': 250 * KIB,
    },
  },
  captured.log,
)
afterAll(() => hub[Symbol.asyncDispose]())

const TOO_MUCH = { message: expect.stringMatching(/^Limit [a-z-]+: found \d+, expected at most \d+ bytes/) }

function set(device: FakeDevice, name: string, value: unknown): Promise<unknown> {
  return device.invoke('devices_SetProperty', { deviceId: device.deviceId, name, value })
}

function newEvent(body: unknown, at = new Date()) {
  return {
    eventId: newDatedId('d_ev', at),
    severity: 'Info',
    body,
    attributes: {},
    emittedAt: at.toISOString(),
  } as const
}

function publish({ deviceId, invoke }: FakeDevice, ...events: object[]): Promise<unknown> {
  return invoke('devices_PublishEvents', { deviceId, events })
}

const filler = (bytes: number, of = 'x'): string => of.repeat(bytes)

describe.each(['lane', 'pipeline'] as const)('over the %s', way => {
  async function connect(token: string): Promise<FakeDevice> {
    const device = await connectDevice({ url: hub.url, token })
    return way === 'lane' ? device : overPipeline(device)
  }

  it('S2: refuses further writes of a device that rewrites a large property, and reports it to operators', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connect(token)
    await using neighbour = await connect(token)
    const { deviceId } = device
    for (let at = 0; at < 4; at++) await set(device, 'log', filler(20 * KIB, String(at)))
    for (let at = 0; at < 100; at++)
      await expect(set(device, 'log', filler(30 * KIB))).rejects.toMatchObject(TOO_MUCH)
    await expect(publish(device, newEvent(filler(50 * KIB)))).resolves.toEqual({})
    await expect(publish(device, newEvent(filler(60 * KIB)))).rejects.toMatchObject({
      // The mark in the Hello tells the hub that this client understands `RateLimited` (docs/protocol.md ).
      kind: 'RateLimited',
      message: expect.stringMatching(
        /^Limit device-event-bytes-per-hour: found 1\d{5}, expected at most 102400 bytes an hour\. Try again in \d+ s; until then 60 values and events of up to 4096 bytes are stored an hour\.$/,
      ),
    })
    expect(await set(neighbour, 'log', filler(30 * KIB))).toEqual({ result: 'Set' })
    // Writes of people have a budget of their own.
    expect(
      await owner.invoke('devices_SetProperty', { deviceId, name: 'p', value: filler(20 * KIB) }),
    ).toEqual({
      result: 'Set',
    })
    await expect
      .poll(async () => (await owner.invoke('devices_GetDetails', { deviceId })).limitHits)
      .toMatchObject([{ limit: 'device-event-bytes-per-hour' }, { limit: 'device-property-bytes-per-hour' }])
    expect(captured.named('a limit was hit').filter(line => line.deviceId === deviceId)).toHaveLength(2)
  })

  it('S2: a device over its budget may write 60 small values and events an hour, as update scripts need', async () => {
    const { token } = await hub.fleet()
    await using device = await connect(token)
    for (let at = 0; at < 5; at++) await set(device, 'log', filler(19 * KIB, String(at)))
    for (let at = 0; at < 5; at++) await publish(device, newEvent(filler(19 * KIB)))
    await expect(set(device, 'log', filler(5 * KIB))).rejects.toMatchObject(TOO_MUCH)
    expect(await writeUpdate(device)).toBe('completed')
    // Begins with the 12 small writes of `writeUpdate`. The first of them may still have fitted into the normal budgets, so more than
    // 60 small writes may succeed.
    let count = 12
    for (; count < 100; count++) {
      const write =
        count % 2 === 0
          ? set(device, 'dev.nexigon.ota.status', { state: filler(4000), count })
          : publish(device, newEvent(filler(4 * KIB - 4)))
      if (
        await write.then(
          () => false,
          () => true,
        )
      )
        break
    }
    expect(count).toBeGreaterThanOrEqual(60)
    expect(count).toBeLessThanOrEqual(60 + 13)
    await expect(set(device, 'log', filler(5 * KIB))).rejects.toMatchObject(TOO_MUCH)
  })

  it('S2: limits the devices of a project together by the rate of the project', async () => {
    const { token } = await hub.fleet()
    const devices = await Promise.all(Array.from({ length: 4 }, () => connect(token)))
    for (const device of devices.slice(0, 3)) await set(device, 'a', filler(90 * KIB))
    await expect(set(devices[3]!, 'a', filler(90 * KIB))).rejects.toMatchObject({
      message: expect.stringContaining('Limit project-bytes-per-hour'),
    })
    expect(await set(devices[3]!, 'a', filler(KIB))).toEqual({ result: 'Set' })
    await Promise.all(devices.map(device => device[Symbol.asyncDispose]()))
  })

  it('S2: removes the oldest events and past values of a device over its limits', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connect(token)
    await using neighbour = await connect(token)
    const { deviceId } = device
    for (const one of [device, neighbour])
      for (let at = 0; at < 3; at++) {
        await set(one, 'log', filler(10 * KIB, String(at)))
        await publish(one, newEvent(filler(10 * KIB, String(at))))
      }
    for (let at = 3; at < 8; at++) {
      await set(device, 'log', filler(10 * KIB, String(at)))
      await publish(device, newEvent(filler(10 * KIB, String(at))))
    }
    expect(await hub.runJob('devices_MeasureStored', {})).toMatchObject({ status: 'Completed' })

    const first = (value: unknown): string => String(value).charAt(0)
    const { events } = await owner.invoke('devices_QueryEvents', { deviceId })
    expect(events.map(({ body }) => first(body))).toEqual(['7', '6', '5'])
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'log' })
    expect(changes.map(({ value }) => first(value))).toEqual(['7', '6', '5'])
    const { deviceId: neighbourId } = neighbour
    expect((await owner.invoke('devices_QueryEvents', { deviceId: neighbourId })).events).toHaveLength(3)
    await expect
      .poll(async () => (await owner.invoke('devices_GetDetails', { deviceId })).limitHits)
      .toMatchObject([
        {
          limit: 'device-history-bytes',
          message: expect.stringContaining('The oldest past values were removed.'),
        },
        { limit: 'device-event-bytes' },
      ])
    // The bytes of removed rows are no longer counted.
    const { rows } = await sql`
    select sum(event_bytes)::int as events, sum(change_bytes)::int as changes from device_stored_bytes
     where device_id = ${deviceId}`.execute(hub.db)
    expect(rows).toEqual([{ events: 3 * (10 * KIB + 204), changes: 3 * (10 * KIB + 202) }])
    await hub.runJob('devices_MeasureStored', {})
    expect((await owner.invoke('devices_QueryEvents', { deviceId })).events).toHaveLength(3)
  })

  it('S2: accepts only small values in a project or organization over its total, until devices are deleted', async () => {
    const { owner, organizationId, token } = await hub.fleet()
    const second = await hub.token(owner, await hub.project(owner, organizationId))
    await using culprit = await connect(token)
    await using other = await connect(second.token)
    for (let at = 0; at < 9; at++) await set(culprit, `log-${at % 3}`, filler(9 * KIB, String(at)))
    for (let at = 0; at < 5; at++) await publish(culprit, newEvent(filler(9 * KIB)))
    for (let at = 0; at < 6; at++) await set(other, `log-${at % 3}`, filler(9 * KIB, String(at)))
    const measure = async (of: Record<string, number>) => {
      Object.assign(hub.services.limits, of)
      await hub.runJob('devices_MeasureStored', {})
    }
    const before = { ...hub.services.limits }
    const generous = { 'device-history-bytes': 1e9, 'device-event-bytes': 1e9 }
    await measure(generous)
    await expect(set(culprit, 'log', filler(9 * KIB))).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(
        /^Limit project-bytes: found 1\d{5}, expected at most 153600 bytes\. Delete devices or ask the operator/,
      ),
    })
    expect(await set(culprit, 'log', filler(KIB))).toEqual({ result: 'Set' })
    expect(await set(other, 'log', filler(5 * KIB))).toEqual({ result: 'Set' })
    // Both projects together exceed the total of the organization.
    for (let at = 0; at < 2; at++) await publish(other, newEvent(filler(20 * KIB)))
    await measure({})
    await expect(set(other, 'log', filler(9 * KIB))).rejects.toMatchObject({
      message: expect.stringContaining('Limit organization-bytes: found 2'),
    })
    await owner.invoke('devices_Delete', { deviceId: culprit.deviceId })
    await measure(before)
    expect(await set(other, 'log', filler(9 * KIB))).toEqual({ result: 'Set' })
  })
})

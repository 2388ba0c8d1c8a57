import { type ActionInput, newId } from '@muster/actions'
import {
  auditEvents,
  connectDevice,
  type FakeDevice,
  failed,
  publicAgent,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { holdAfterRestore } from './upkeep.ts'

let hub: TestHub
let owner: TestUser
let projectId: string
let token: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, projectId, token } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())

type Steps = ActionInput<'devices_CreateOperation'>['steps']
type Work = {
  work: {
    deviceOperationId: string
    claimId: string
    stepIndex: number
    checkpoint?: unknown
    step: unknown
  }[]
}

const command = (more: object = {}) =>
  ({ kind: 'DeviceCommand', command: 'restart', input: { force: true }, ...more }) as const
const equals = (name: string, value: unknown) =>
  ({
    kind: 'Equals',
    left: { kind: 'NamedValue', name },
    right: { kind: 'Literal', value: value as never },
  }) as const

async function create(deviceId: string, steps: Steps, name = 'Restart'): Promise<string> {
  return (await owner.invoke('devices_CreateOperation', { deviceId, name, steps })).deviceOperationId
}

async function start(deviceId: string, steps: Steps, name?: string): Promise<string> {
  const deviceOperationId = await create(deviceId, steps, name)
  await owner.invoke('devices_StartOperation', { deviceOperationId })
  return deviceOperationId
}

async function get(deviceOperationId: string) {
  const found = await owner.invoke('devices_GetOperation', { deviceOperationId })
  if (found.result !== 'Found') throw new Error('the operation was not found')
  return found
}

const statusOf = async (deviceOperationId: string) => (await get(deviceOperationId)).summary.status

async function claim(device: FakeDevice, more: object = {}): Promise<Work['work']> {
  const input = { deviceId: device.deviceId, limit: 1, kinds: ['DeviceCommand'], ...more }
  return ((await device.invoke('devices_ClaimOperationWork', input)) as Work).work
}

function report(
  device: FakeDevice,
  { deviceOperationId, claimId, stepIndex }: Work['work'][number],
  result: object,
): Promise<unknown> {
  const input = { deviceId: device.deviceId, deviceOperationId, claimId, stepIndex, report: result }
  return device.invoke('devices_ReportOperationStep', input)
}

const propertyOf = async (deviceId: string, name: string) =>
  owner.invoke('devices_GetProperty', { deviceId, name })

describe('steps on properties', () => {
  it('are done by the hub at the start, with values as they were sent', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await owner.invoke('devices_SetProperty', { deviceId, name: 'config', value: { a: 1, old: true } })
    await owner.invoke('devices_SetProperty', { deviceId, name: 'gone', value: 1 })
    const response = await fetch(`${hub.url}/api/v1/actions/invoke/devices_CreateOperation`, {
      method: 'POST',
      headers: { cookie: owner.cookie, origin: hub.url, 'content-type': 'application/json' },
      body: `{"deviceId":"${deviceId}","name":"Set","description":null,"steps":[
        {"kind":"SetDeviceProperty","name":"big","value":{"n":1.50,"id":12345678901234567890},"protected":true,"when":null},
        {"kind":"UpdateDeviceProperty","name":"config","mutation":{"mutation":"Set","path":["a"],"expr":{"kind":"Get","expr":{"kind":"NamedValue","name":"big"},"path":["n"]}}},
        {"kind":"UpdateDeviceProperty","name":"config","mutation":{"mutation":"MergePatch","path":[],"expr":{"kind":"Literal","value":{"old":null,"new":[1]}}}},
        {"kind":"RemoveDeviceProperty","name":"gone"},
        {"kind":"SetDeviceProperty","name":"never","value":1,"when":{"kind":"Exists","expr":{"kind":"NamedValue","name":"gone"},"path":[]}}]}`,
    })
    const { deviceOperationId } = (await response.json()) as { deviceOperationId: string }
    expect(await statusOf(deviceOperationId)).toBe('Pending')
    await owner.invoke('devices_StartOperation', { deviceOperationId })
    const { summary, stepStates, transitions } = await get(deviceOperationId)
    expect(summary).toMatchObject({ status: 'Succeeded', stepIndex: 5, stepCount: 5, deviceId, projectId })
    expect(stepStates.map(({ status }) => status)).toEqual([
      'Succeeded',
      'Succeeded',
      'Succeeded',
      'Succeeded',
      'Skipped',
    ])
    expect(transitions.map(({ status }) => status)).toContain('Skipped')
    const big = await hub.pool.query(
      "select value::text, protected from device_property where device_id = $1 and name = 'big'",
      [deviceId],
    )
    expect(big.rows).toEqual([{ value: '{"n":1.50,"id":12345678901234567890}', protected: true }])
    expect(await propertyOf(deviceId, 'config')).toMatchObject({ value: { a: 1.5, new: [1] } })
    expect(await propertyOf(deviceId, 'gone')).toEqual({ result: 'NotFound' })
    expect(await propertyOf(deviceId, 'never')).toEqual({ result: 'NotFound' })
    const events = await auditEvents(hub, 'devices_OperationEnded')
    expect(events.at(-1)).toMatchObject({ data: { deviceOperationId, status: 'Succeeded' } })
    const timeline = await owner.invoke('devices_QueryTimeline', { deviceId })
    expect(JSON.stringify(timeline)).toContain('devices_OperationStarted')
  })

  it('fail with the reason', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const unknown = await start(deviceId, [
      { kind: 'SetDeviceProperty', name: 'a', value: 1, when: equals('no', 1) },
    ])
    expect((await get(unknown)).summary).toMatchObject({
      status: 'Failed',
      lastError: 'The condition of the step could not be evaluated: no is not set',
    })
    await owner.invoke('devices_SetProperty', { deviceId, name: 'text', value: 'x' })
    const misfit = await start(deviceId, [
      {
        kind: 'UpdateDeviceProperty',
        name: 'text',
        mutation: { mutation: 'Set', path: ['a'], expr: { kind: 'Literal', value: 1 } },
      },
    ])
    expect((await get(misfit)).summary.lastError).toBe(
      'The property "text" cannot be changed: found no object at [], expected one with "a".',
    )
    const kept = await failed(
      create(deviceId, [{ kind: 'SetDeviceProperty', name: 'dev.muster.labels', value: {} }]),
    )
    expect(kept).toMatchObject({ kind: 'Invalid', message: expect.stringContaining('steps.0.name') })
  })

  it('are refused while another operation changes the same property', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const set = { kind: 'SetDeviceProperty', name: 'mode', value: 1 } as const
    const first = await start(device.deviceId, [command(), set], 'First')
    const second = await create(device.deviceId, [set], 'Second')
    const refused = await failed(
      owner.invoke('devices_StartOperation', { deviceOperationId: second as never }),
    )
    expect(refused).toMatchObject({ kind: 'Invalid', message: expect.stringContaining(`"First" (${first})`) })
    await owner.invoke('devices_CancelOperation', { deviceOperationId: first as never })
    await owner.invoke('devices_StartOperation', { deviceOperationId: second as never })
    expect(await statusOf(second)).toBe('Succeeded')
  })
})

describe('work of devices', () => {
  it('is claimed once, reported, and followed by the next step', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await start(device.deviceId, [
      command({
        timeoutSecs: 60,
        when: { kind: 'Not', expr: { kind: 'Exists', expr: { kind: 'NamedValue', name: 'x' }, path: [] } },
      }),
      { kind: 'SetDeviceProperty', name: 'done', value: true },
    ])
    expect((await get(id)).summary.waitingFor).toBe('the device has not asked for the command restart yet')
    expect(await claim(device, { kinds: ['DeviceTask'] })).toEqual([])
    const [work] = await claim(device)
    expect(work).toEqual({
      deviceOperationId: id,
      claimId: expect.stringMatching(/^d_op_claim_/),
      operationName: 'Restart',
      stepIndex: 0,
      step: { kind: 'DeviceCommand', command: 'restart', input: { force: true }, timeoutSecs: 60 },
    })
    expect(await claim(device)).toEqual([])
    expect((await get(id)).summary.waitingFor).toBe('the device does the command restart')
    expect(await report(device, work!, { status: 'Succeeded', output: { n: 1 } })).toEqual({})
    const { summary, stepStates } = await get(id)
    expect(summary.status).toBe('Succeeded')
    expect(stepStates[0]).toMatchObject({ status: 'Succeeded', output: { n: 1 } })
    expect(await propertyOf(device.deviceId, 'done')).toMatchObject({ value: true })
    // A repeated report, and one with another outcome, change nothing.
    for (const status of ['Succeeded', 'Failed', 'Running'])
      expect(await report(device, work!, { status })).toEqual({ isSuperseded: true })
    expect(await statusOf(id)).toBe('Succeeded')
  })

  it('is handed out again after a new connection, and reports under the old claim change nothing', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await start(device.deviceId, [{ kind: 'DeviceTask', task: 'copy', input: null }])
    const [old] = await claim(device, { kinds: ['DeviceTask'] })
    expect(await report(device, old!, { status: 'Running', checkpoint: { part: 2 } })).toEqual({})
    await using again = await connectDevice({ url: hub.url, token, identity: device.identity })
    const [work] = await claim(again, { kinds: ['DeviceTask'] })
    expect(work).toMatchObject({ deviceOperationId: id, stepIndex: 0, checkpoint: { part: 2 } })
    expect(work!.claimId).not.toBe(old!.claimId)
    expect(await report(again, old!, { status: 'Failed', error: 'late' })).toEqual({ isSuperseded: true })
    expect(await statusOf(id)).toBe('Running')
    await report(again, work!, { status: 'Failed', error: 'disk full' })
    expect((await get(id)).summary).toMatchObject({ status: 'Failed', lastError: 'disk full' })
  })

  it('cannot be claimed or reported by another device', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    await using other = await connectDevice({ url: hub.url, token })
    await start(device.deviceId, [command()])
    expect(await claim(other)).toEqual([])
    const [work] = await claim(device)
    expect(await failed(report(other, work!, { status: 'Succeeded' }))).toMatchObject({ kind: 'Forbidden' })
    const absent = { ...work!, deviceOperationId: newId('d_op') }
    expect(await failed(report(device, absent, { status: 'Succeeded' }))).toMatchObject({ kind: 'Forbidden' })
    const impostor = device.invoke('devices_ClaimOperationWork', { deviceId: other.deviceId })
    expect(await failed(impostor)).toMatchObject({ kind: 'Forbidden' })
    expect(
      await failed(owner.invoke('devices_ClaimOperationWork', { deviceId: device.deviceId as never })),
    ).toMatchObject({ kind: 'Forbidden' })
  })

  it('ends without an output that is too large, and refuses such a checkpoint', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await start(device.deviceId, [command()])
    const [work] = await claim(device)
    const large = 'x'.repeat(70_000)
    expect(await failed(report(device, work!, { status: 'Running', checkpoint: large }))).toMatchObject({
      kind: 'Invalid',
    })
    await report(device, work!, { status: 'Succeeded', output: large })
    const { stepStates } = await get(id)
    expect(stepStates[0]).toMatchObject({
      status: 'Succeeded',
      error: 'The output of 70002 bytes was not kept: at most 65536 are stored.',
    })
  })

  it('runs on the public agent of 2026', async () => {
    await using agent = await publicAgent({ url: hub.url, token, age: '2026' })
    await agent.started
    const id = await start(agent.deviceId, [command()])
    const claimed = (await agent.oneShot('devices_ClaimOperationWork', {
      limit: 1,
      kinds: ['DeviceCommand'],
    })) as Work
    expect(claimed.work).toHaveLength(1)
    const { deviceOperationId, claimId, stepIndex } = claimed.work[0]!
    const done = await agent.oneShot('devices_ReportOperationStep', {
      ...{ deviceOperationId, claimId, stepIndex },
      report: { status: 'Succeeded', output: null },
    })
    expect(done).toEqual({})
    expect(await statusOf(id)).toBe('Succeeded')
  })
})

describe('waits and time-outs', () => {
  it('end when the property has the value, or fail at once', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const wait = { kind: 'WaitForDeviceProperty', predicate: equals('state', 'done') } as const
    const waits = await start(deviceId, [wait])
    const fails = await start(deviceId, [{ ...wait, failWhen: equals('state', 'broken') }])
    expect((await get(waits)).summary).toMatchObject({
      status: 'Running',
      waitingFor: 'waits until state = "done"',
    })
    await device.invoke('devices_SetProperty', { deviceId, name: 'state', value: 'broken' })
    await until('the operation fails', async () => (await statusOf(fails)) === 'Failed')
    expect((await get(fails)).summary.lastError).toBe('Found state = "broken": state is "broken"')
    expect(await statusOf(waits)).toBe('Running')
    await device.invoke('devices_SetProperty', { deviceId, name: 'state', value: 'done' })
    await until('the operation ends', async () => (await statusOf(waits)) === 'Succeeded')
  })

  it('time out', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const never = { kind: 'WaitForDeviceProperty', predicate: equals('never', 1), timeoutSecs: 1 } as const
    const waits = await start(device.deviceId, [never])
    const works = await start(device.deviceId, [command({ timeoutSecs: 1 })])
    const [work] = await claim(device)
    for (const id of [waits, works]) {
      await until('the operation times out', async () => (await statusOf(id)) === 'TimedOut')
      expect((await get(id)).summary.lastError).toBe('The step did not end within 1 s.')
    }
    expect(await report(device, work!, { status: 'Succeeded' })).toEqual({ isSuperseded: true })
    expect(await statusOf(works)).toBe('TimedOut')
  })

  it('go on by the job after the death of the node that would have gone on', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await create(device.deviceId, [{ kind: 'SetDeviceProperty', name: 'late', value: 1 }])
    // The state between the commit of the start and the first step.
    await hub.pool.query(
      "update device_operation set status = 'Running', started_at = now(), due_at = now() where operation_id = $1",
      [id],
    )
    await hub.runJob('devices_RunOperations', {})
    expect(await statusOf(id)).toBe('Succeeded')
  })
})

describe('the end', () => {
  it('is final after a cancellation, whatever the device reports', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await start(device.deviceId, [command(), { kind: 'SetDeviceProperty', name: 'no', value: 1 }])
    const [work] = await claim(device)
    await owner.invoke('devices_CancelOperation', { deviceOperationId: id as never })
    await owner.invoke('devices_CancelOperation', { deviceOperationId: id as never })
    expect(await report(device, work!, { status: 'Succeeded' })).toEqual({ isSuperseded: true })
    const { summary, stepStates } = await get(id)
    expect(summary).toMatchObject({ status: 'Cancelled', lastError: 'The operation was cancelled.' })
    expect(stepStates.map(({ status }) => status)).toEqual(['Failed', 'Pending'])
    expect(await propertyOf(device.deviceId, 'no')).toEqual({ result: 'NotFound' })
    expect(
      await failed(owner.invoke('devices_StartOperation', { deviceOperationId: id as never })),
    ).toMatchObject({
      kind: 'Invalid',
    })
  })

  it('comes with the deletion of the device, and stays readable', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    const running = await start(deviceId, [command()])
    const pending = await create(deviceId, [command()])
    await owner.invoke('devices_Delete', { deviceId: deviceId as never })
    for (const id of [running, pending])
      expect((await get(id)).summary).toMatchObject({
        status: 'Cancelled',
        lastError: 'The device was deleted.',
      })
    expect((await get(running)).stepStates[0]).toMatchObject({
      status: 'Failed',
      error: 'The device was deleted.',
    })
  })

  it('waits after a restore until somebody starts the operation again', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await start(device.deviceId, [command()])
    const [work] = await claim(device)
    const client = await hub.pool.connect()
    try {
      expect(await holdAfterRestore(client)).toContain(id)
    } finally {
      client.release()
    }
    const { summary, transitions } = await get(id)
    expect(summary).toMatchObject({ status: 'Running', waitingFor: 'held after a restore: start it again' })
    expect(transitions.at(-1)).toMatchObject({ status: 'Held' })
    await using again = await connectDevice({ url: hub.url, token, identity: device.identity })
    expect(await claim(again)).toEqual([])
    expect(await report(again, work!, { status: 'Succeeded' })).toEqual({ isSuperseded: true })
    await owner.invoke('devices_StartOperation', { deviceOperationId: id as never })
    const [next] = await claim(again)
    await report(again, next!, { status: 'Succeeded' })
    expect(await statusOf(id)).toBe('Succeeded')
  })
})

describe('limits and rights', () => {
  it('refuse definitions that are too large, and too many open operations', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const value = 'x'.repeat(1_000_000)
    const large = create(device.deviceId, [{ kind: 'SetDeviceProperty', name: 'a', value }])
    expect(await failed(large)).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('expected at most 262144'),
    })
    await hub.pool.query(
      `insert into operation_definition (definition_id, project_id, steps, step_count)
       select 'd' || n || $1, $2, '[]', 0 from generate_series(1, 50) n`,
      [device.deviceId, projectId],
    )
    await hub.pool.query(
      `insert into device_operation (operation_id, device_id, project_id, definition_id, name, created_by, step_count, step_states)
       select 'o' || n || $1, $1, $2, 'd' || n || $1, 'x', '{}', 0, '[]' from generate_series(1, 50) n`,
      [device.deviceId, projectId],
    )
    expect(await failed(create(device.deviceId, [command()]))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('50'),
    })
  })

  it('hide operations from other organizations', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await create(device.deviceId, [command()])
    const other = await hub.user()
    expect(await other.invoke('devices_GetOperation', { deviceOperationId: id as never })).toEqual({
      result: 'NotFound',
    })
    expect(
      await failed(other.invoke('devices_StartOperation', { deviceOperationId: id as never })),
    ).toMatchObject({
      kind: 'Forbidden',
    })
  })

  it('do not start while a node of an older release is alive', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const id = await create(device.deviceId, [command()])
    const node = newId('cluster_node')
    await hub.pool.query(
      "insert into cluster_node (node_id, name, newest_migration) values ($1, 'old', '0048_webhooks.sql')",
      [node],
    )
    const refused = await failed(owner.invoke('devices_StartOperation', { deviceOperationId: id as never }))
    expect(refused).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('The node old has an older release'),
    })
    await hub.pool.query('delete from cluster_node where node_id = $1', [node])
    await owner.invoke('devices_StartOperation', { deviceOperationId: id as never })
    expect(await statusOf(id)).toBe('Running')
  })
})

import { MAX_JSON_DEPTH } from '@muster/actions'
import { ChannelRejectedError, ExecutorClient, RemoteActionError } from '@muster/link'
import {
  capturedLog,
  connectDevice,
  connectPerson,
  type FakeDevice,
  type RawDevice,
  rawDevice,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'

const captured = capturedLog()
const hub = await testHub({}, captured.log)
afterAll(() => hub[Symbol.asyncDispose]())

const MIB = 1024 * 1024

/** Encodes one request of an executor channel (docs/protocol.md 3.2). */
function request(name: string, input: Uint8Array | string): Buffer {
  const nameBytes = Buffer.from(name)
  const inputBytes = Buffer.from(input)
  const header = Buffer.alloc(2)
  header.writeUInt16BE(nameBytes.length)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(inputBytes.length)
  return Buffer.concat([header, nameBytes, length, inputBytes])
}

/** Texts of the complete answers that a raw device has received as channel data. */
function answersOf({ received }: RawDevice): string[] {
  const bytes = Buffer.concat(
    received.flatMap(frame => (frame.type === 'ChannelData' ? [frame.payload] : [])),
  )
  const answers: string[] = []
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) break
    answers.push(bytes.toString('utf8', at + 4, end))
    at = end
  }
  return answers
}

async function connected(): Promise<
  { owner: TestUser; device: FakeDevice; deviceId: string } & AsyncDisposable
> {
  const { owner, token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token })
  return {
    owner,
    device,
    deviceId: device.deviceId,
    [Symbol.asyncDispose]: () => device[Symbol.asyncDispose](),
  }
}

describe('the actor', () => {
  it('of a device is the device with its token', async () => {
    const { token, tokenId } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    expect(await device.invoke('actor_GetActor', {})).toEqual({
      actor: { actor: 'Device', deviceId, tokenId },
    })
  })

  it('of a user token is the person behind it, with that person’s rights', async () => {
    const { owner, projectId } = await hub.fleet()
    const otherTenant = await hub.fleet()
    await using person = await connectPerson(hub.url, await hub.userToken(owner))
    const executor = new ExecutorClient(await person.open('executor'))
    expect(await executor.invoke('actor_GetActor', {})).toEqual({
      actor: { actor: 'UserToken', userId: owner.userId, tokenId: expect.stringMatching(/^u_pk_/) },
    })
    expect(await executor.invoke('projects_GetDetails', { projectId })).toMatchObject({ projectId })
    await expect(
      executor.invoke('projects_GetDetails', { projectId: otherTenant.projectId }),
    ).rejects.toMatchObject({ kind: 'Forbidden', message: 'You are not permitted to do this.' })
    await executor.invoke('projects_SetName', { projectId, name: 'Renamed' })
    const row = await hub.db
      .selectFrom('audit_action')
      .where('action', '=', 'projects_SetName')
      .select(['actor', 'status'])
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ actor: { actor: 'UserToken', userId: owner.userId }, status: 'Succeeded' })
  })

  it('of a deleted user token is refused, and the connection is closed', async () => {
    const owner = await hub.user()
    await using person = await connectPerson(hub.url, await hub.userToken(owner))
    const executor = new ExecutorClient(await person.open('executor'))
    await executor.invoke('actor_GetActor', {})
    await hub.db.deleteFrom('user_token').where('user_id', '=', owner.userId).execute()
    await until('an action is refused', () =>
      executor.invoke('actor_GetActor', {}).then(
        () => false,
        () => true,
      ),
    )
    expect(await person.ended).toEqual({
      kind: 'PeerClose',
      reason: 'the user token is no longer valid',
    })
  })

  it('of a user token is not counted among the device connections', async () => {
    const owner = await hub.user()
    const before = hub.devices.sessions.length
    await using _person = await connectPerson(hub.url, await hub.userToken(owner))
    expect(hub.devices.sessions.length).toBe(before)
  })
})

describe('channels', () => {
  it.each([
    'terminal',
    'forward/tcp/80',
    'handler',
    'Executor',
    'executor/',
    '',
    'device/d_x/proxy/forward/tcp/1',
  ])('to "%s" are rejected as unknown, and the connection stays open', async endpoint => {
    await using here = await connected()
    await expect(here.device.link.open(endpoint)).rejects.toEqual(
      new ChannelRejectedError('unknown endpoint'),
    )
    expect(await here.device.invoke('actor_GetActor', {})).toHaveProperty('actor')
  })

  it('to the executor may be several, which work independently', async () => {
    await using here = await connected()
    const { device, deviceId } = here
    const executors = await Promise.all(
      Array.from({ length: 12 }, async () => new ExecutorClient(await device.link.open('executor'))),
    )
    executors[0]!.close()
    const results = await Promise.all(
      executors
        .slice(1)
        .map((executor, index) =>
          executor
            .invoke('devices_SetProperty', { deviceId, name: `p${index}`, value: index })
            .then(() => executor.invoke('devices_GetProperty', { deviceId, name: `p${index}` })),
        ),
    )
    expect(results.map(result => (result as { value: unknown }).value)).toEqual(
      results.map((_, index) => index),
    )
    await expect(executors[0]!.invoke('actor_GetActor', {})).rejects.toThrow('closed')
  })

  it('that a device closes are freed, however many it opens', async () => {
    await using here = await connected()
    for (let round = 0; round < 80; round++) {
      const executor = new ExecutorClient(await here.device.link.open('executor'))
      await executor.invoke('actor_GetActor', {})
      executor.close()
    }
    expect(here.device.link.channelCount).toBe(1)
  })

  it('may be opened as fast as scripts run one-shot commands over the link of the service', async () => {
    const { token } = await hub.fleet()
    await using device = await rawDevice({ url: hub.url, token })
    const own = await device.openExecutor()
    // The loop opens far more channels in a second than the 64 that a published Nexigon peer accepts (docs/protocol.md 2.10), but never
    // more than 32 at a time.
    for (let round = 0; round < 12; round++) {
      const numbers = Array.from({ length: 24 }, (_, at) => 2 + round * 24 + at)
      const commands = await Promise.all(numbers.map(number => device.openExecutor(number)))
      const reason = new Uint8Array()
      for (const receiverId of commands)
        device.send(
          { type: 'ChannelClosed', receiverId, reason },
          { type: 'ChannelClose', receiverId, reason },
        )
    }
    device.send({ type: 'ChannelData', receiverId: own, payload: request('actor_GetActor', '{}') })
    await until('the link of the service still works', () => answersOf(device).length === 1)
  })
})

describe('the envelope', () => {
  it('has exactly the bytes that the protocol defines', async () => {
    const { token, tokenId, owner, projectId } = await hub.fleet()
    await using device = await rawDevice({ url: hub.url, token })
    const receiverId = await device.openExecutor()
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    const { deviceId } = devices[0]!
    const send = (payload: Uint8Array): void => device.send({ type: 'ChannelData', receiverId, payload })
    send(request('actor_GetActor', '{}'))
    await until('it is answered', () => answersOf(device).length === 1)
    const text = `{"result":"Ok","value":{"actor":{"actor":"Device","deviceId":"${deviceId}","tokenId":"${tokenId}"}}}`
    const expected = Buffer.concat([Buffer.alloc(4), Buffer.from(text)])
    expected.writeUInt32BE(text.length)
    const bytes = Buffer.concat(
      device.received.flatMap(frame => (frame.type === 'ChannelData' ? [frame.payload] : [])),
    )
    expect(bytes).toEqual(expected)

    // Several requests, sent in pieces of 7 bytes without waiting for answers, are answered in order.
    const many = Buffer.concat([
      request('devices_SetProperty', JSON.stringify({ deviceId, name: 'a', value: { b: null } })),
      request('devices_GetProperty', JSON.stringify({ deviceId, name: 'none' })),
      request('nothing_Known', '{}'),
      request('devices_PublishEvents', JSON.stringify({ deviceId, events: [] })),
      request('projects_GetDetails', JSON.stringify({ projectId })),
    ])
    for (let at = 0; at < many.length; at += 7) send(many.subarray(at, at + 7))
    await until('all are answered', () => answersOf(device).length === 6)
    expect(answersOf(device).slice(1)).toEqual([
      '{"result":"Ok","value":{"result":"Set"}}',
      '{"result":"Ok","value":{"result":"NotFound"}}',
      '{"result":"Error","error":{"kind":"Invalid","message":"unknown action: nothing_Known"}}',
      '{"result":"Ok","value":{}}',
      '{"result":"Error","error":{"kind":"Forbidden","message":"You are not permitted to do this."}}',
    ])
  })

  it('returns a property character by character as it was written', async () => {
    const { token } = await hub.fleet()
    await using device = await rawDevice({ url: hub.url, token })
    const receiverId = await device.openExecutor()
    const send = (name: string, input: string): void =>
      device.send({ type: 'ChannelData', receiverId, payload: request(name, input) })
    send('actor_GetActor', '{}')
    await until('it is answered', () => answersOf(device).length === 1)
    const deviceId = /d_\w{22}/.exec(answersOf(device)[0]!)![0]
    const value = '{ "b" : 1.0, "a": [1e400, 12345678901234567890, "\\u0000\\ud800é"],"b":null }'
    send('devices_SetProperty', `{"deviceId":"${deviceId}","name":"p","value":${value}}`)
    send('devices_GetProperty', `{"deviceId":"${deviceId}","name":"p"}`)
    await until('both are answered', () => answersOf(device).length === 3)
    expect(answersOf(device)[1]).toBe('{"result":"Ok","value":{"result":"Set"}}')
    expect(answersOf(device)[2]).toContain(`"value":${value},`)
  })
})

describe('an action that fails', () => {
  it.each([
    'nothing_Known',
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'devices',
    'é'.repeat(100),
    'a b',
  ])('is Invalid when it is unknown: %s', async name => {
    await using here = await connected()
    await expect(here.device.invoke(name, {})).rejects.toEqual(
      new RemoteActionError('Invalid', `unknown action: ${name.slice(0, 100)}`),
    )
    expect(await here.device.invoke('actor_GetActor', {})).toHaveProperty('actor')
  })

  it('is Forbidden when a device calls it for another device, or deletes itself', async () => {
    await using here = await connected()
    await using there = await connected()
    const { deviceId } = there
    const reports = [
      'devices_SetProperty',
      'devices_GetProperty',
      'devices_QueryProperties',
      'devices_RemoveProperty',
    ]
    for (const name of reports)
      await expect(here.device.invoke(name, { deviceId, name: 'a', value: 1 })).rejects.toMatchObject({
        kind: 'Forbidden',
      })
    await expect(here.device.invoke('devices_PublishEvents', { deviceId, events: [] })).rejects.toMatchObject(
      {
        kind: 'Forbidden',
      },
    )
    await expect(here.device.invoke('devices_Delete', { deviceId: here.deviceId })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    expect(there.device.link.isOpen).toBe(true)
  })
})

describe('an input', () => {
  it('of 8 MiB is accepted; one byte more closes the channel but not the connection', async () => {
    await using here = await connected()
    const { device, deviceId } = here
    const padded = (bytes: number): object => {
      const input = { deviceId, name: 'a', value: 1, padding: '' }
      return { ...input, padding: 'x'.repeat(bytes - JSON.stringify(input).length) }
    }
    expect(await device.invoke('devices_SetProperty', padded(8 * MIB))).toEqual({ result: 'Set' })

    await using raw = await rawDevice({ url: hub.url, token: (await hub.fleet()).token })
    const receiverId = await raw.openExecutor()
    const header = request('devices_SetProperty', '')
    header.writeUInt32BE(8 * MIB + 1, header.length - 4)
    raw.send({ type: 'ChannelData', receiverId, payload: header })
    await until('the channel is closed', () =>
      ['ChannelClosed', 'ChannelClose'].every(type => raw.received.some(frame => frame.type === type)),
    )
    const second = await raw.openExecutor(2)
    raw.send({ type: 'ChannelData', receiverId: second, payload: request('actor_GetActor', '{}') })
    await until('another channel works', () => answersOf(raw).length === 1)
  })

  it('with a name over 255 bytes closes the channel but not the connection', async () => {
    const { token } = await hub.fleet()
    await using raw = await rawDevice({ url: hub.url, token })
    const receiverId = await raw.openExecutor()
    raw.send({ type: 'ChannelData', receiverId, payload: request('x'.repeat(256), '{}') })
    await until('the channel is closed', () => raw.received.some(({ type }) => type === 'ChannelClose'))
    const second = await raw.openExecutor(2)
    raw.send({ type: 'ChannelData', receiverId: second, payload: request('x'.repeat(255), '{}') })
    await until('another channel works', () => answersOf(raw).length === 1)
    expect(answersOf(raw)[0]).toContain('unknown action')
  })

  it('with a value over 1 MiB or an event over 64 KiB is Invalid', async () => {
    await using here = await connected()
    const { device, deviceId } = here
    const largest = 'x'.repeat(MIB - 2)
    const set = (value: unknown): Promise<unknown> =>
      device.invoke('devices_SetProperty', { deviceId, name: 'a', value })
    expect(await set(largest)).toEqual({ result: 'Set' })
    await expect(set(`${largest}x`)).rejects.toEqual(
      new RemoteActionError('Invalid', `The value has ${MIB + 1} bytes; at most ${MIB} are stored.`),
    )
    const event = {
      eventId: 'd_ev_20261121-1203-17czX8X1',
      severity: 'Info',
      body: 'x'.repeat(64 * 1024),
      attributes: {},
      emittedAt: new Date().toISOString(),
    }
    await expect(device.invoke('devices_PublishEvents', { deviceId, events: [event] })).rejects.toMatchObject(
      {
        kind: 'Invalid',
        message: expect.stringContaining('d_ev_20261121-1203-17czX8X1'),
      },
    )
  })

  const invalid: [string, Uint8Array | string, string][] = [
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 'not valid UTF-8'],
    ['truncated UTF-8', Buffer.from('{"a":"é"}').subarray(0, 7), 'not valid UTF-8'],
    ['truncated JSON', '{"deviceId":', 'not valid JSON'],
    ['two JSON values', '{} {}', 'not valid JSON'],
    ['an array', '[]', 'not valid'],
    ['null', 'null', 'not valid'],
    ['a number', '7', 'not valid'],
    [
      'nested one level too deep',
      `${'['.repeat(MAX_JSON_DEPTH + 1)}${']'.repeat(MAX_JSON_DEPTH + 1)}`,
      'nested deeper',
    ],
    ['4 MiB of nested arrays', '['.repeat(4 * MIB), 'nested deeper'],
    ['1,048,576 nested objects', '{"a":'.repeat(MIB), 'nested deeper'],
  ]
  it.each(invalid)('that is %s is Invalid for every kind of action', async (_what, input, message) => {
    const { token } = await hub.fleet()
    await using raw = await rawDevice({ url: hub.url, token })
    const receiverId = await raw.openExecutor()
    let credit = { frames: 128, bytes: 16_384 }
    let seen = 0
    const names = ['actor_GetActor', 'devices_SetProperty', 'projects_Create']
    for (const [index, name] of names.entries()) {
      const bytes = request(name, input)
      for (let at = 0; at < bytes.length; ) {
        await until('there is credit', () => {
          for (; seen < raw.received.length; seen++) {
            const frame = raw.received[seen]!
            if (frame.type === 'ChannelAdjust')
              credit = { frames: credit.frames + frame.frameCredit, bytes: credit.bytes + frame.byteCredit }
          }
          return credit.frames > 0 && credit.bytes > 0
        })
        const payload = bytes.subarray(at, at + Math.min(credit.bytes, 512 * 1024))
        raw.send({ type: 'ChannelData', receiverId, payload })
        credit = { frames: credit.frames - 1, bytes: credit.bytes - payload.length }
        at += payload.length
      }
      await until('it is answered', () => answersOf(raw).length > index)
    }
    for (const answer of answersOf(raw)) {
      expect(JSON.parse(answer)).toEqual({
        result: 'Error',
        error: { kind: 'Invalid', message: expect.stringContaining(message) },
      })
    }
  })
})

describe('an action with a rate limit per address', () => {
  it('counts calls over links as well, from all devices of the address together', async () => {
    await using one = await connected()
    await using other = await connected()
    const calls = Array.from({ length: 30 }, (_, index) =>
      (index % 2 ? one : other).device
        .invoke('users_ResetPassword', { email: `nobody-${index}@test.example` })
        .then(
          () => 'ok',
          (error: RemoteActionError) => error.message,
        ),
    )
    const outcomes = await Promise.all(calls)
    expect(outcomes.filter(outcome => outcome === 'ok')).toHaveLength(20)
    expect(outcomes.filter(outcome => outcome !== 'ok')).toEqual(
      Array(10).fill('Too many requests: try again later.'),
    )
  })
})

it('leaves no action Panicked and logs no error for any input above', async () => {
  const panicked = await hub.db
    .selectFrom('audit_action')
    .where('status', 'not in', ['Succeeded', 'Failed', 'Rejected'])
    .selectAll()
    .execute()
  expect(panicked).toEqual([])
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
})

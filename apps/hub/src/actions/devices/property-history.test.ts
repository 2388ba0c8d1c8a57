import { MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import { ask, connectDevice, type FakeDevice, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let device: FakeDevice
let deviceId: string
let tokenId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ;({ owner, tokenId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

describe('devices_QueryPropertyHistory', () => {
  it('tells each change of value, newest first, with who made it', async () => {
    const property = { deviceId, name: 'site' }
    await device.invoke('devices_SetProperty', { ...property, value: 'Pier 3' })
    await device.invoke('devices_SetProperty', { ...property, value: 'Pier 3' })
    await owner.invoke('devices_SetProperty', { ...property, value: null })
    await owner.invoke('devices_RemoveProperty', property)
    await device.invoke('devices_SetProperty', { deviceId, name: 'other', value: 1 })

    const byDevice = { actor: 'Device', deviceId, tokenId }
    const byOwner = { actor: 'User', userId: owner.userId }
    const changedAt = expect.stringMatching(/Z$/)
    const unnamed = await owner.invoke('devices_QueryPropertyHistory', property)
    expect(unnamed).toEqual({
      changes: [
        { version: 4, isRemoved: true, actor: byOwner, actorName: owner.email, changedAt },
        { version: 3, value: null, isRemoved: false, actor: byOwner, actorName: owner.email, changedAt },
        { version: 1, value: 'Pier 3', isRemoved: false, actor: byDevice, changedAt },
      ],
    })
    await owner.invoke('devices_SetName', { deviceId, name: 'crane-01' })
    await owner.invoke('users_SetDisplayName', { userId: owner.userId, displayName: 'Ada' })
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', property)
    expect(changes.map(change => change.actorName)).toEqual(['Ada', 'Ada', 'crane-01'])
  })

  it('keeps values to the letter', async () => {
    const texts = ['1.0', '12345678901234567890', '"\\u0000"', '{"b": 1,"a":[ ]}', '1e999']
    for (const text of texts) {
      const body = `{"deviceId":"${deviceId}","name":"exact","value":${text}}`
      await ask(hub, '/api/v1/actions/invoke/devices_SetProperty', { as: owner, body })
    }
    const { text } = await ask(hub, '/api/v1/actions/invoke/devices_QueryPropertyHistory', {
      as: owner,
      body: { deviceId, name: 'exact', sort: 'changedAt' },
    })
    const told = [...text.matchAll(/"value":(.*?),"isRemoved":false/g)].map(([, value]) => value)
    expect(told).toEqual(texts)
  })

  it('answers the latest hundred unless asked for more, and is empty where nothing changed', async () => {
    for (let value = 1; value <= 102; value++)
      await device.invoke('devices_SetProperty', { deviceId, name: 'counter', value })
    const bare = await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'counter' })
    expect(bare.changes.map(({ value }) => value)).toEqual(Array.from({ length: 100 }, (_, at) => 102 - at))
    const rest = await owner.invoke('devices_QueryPropertyHistory', {
      deviceId,
      name: 'counter',
      cursor: bare.nextCursor,
    })
    expect(rest).toMatchObject({ changes: [{ value: 2 }, { value: 1 }] })
    expect(rest.nextCursor).toBeUndefined()
    expect(await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'never.set' })).toEqual({
      changes: [],
    })
  })

  it('ends a page early where values are large, and goes on there', async () => {
    const value = (digit: number): string => String(digit).repeat(MAX_PROPERTY_VALUE_BYTES - 2)
    for (let digit = 0; digit < 9; digit++)
      await owner.invoke('devices_SetProperty', { deviceId, name: 'large', value: value(digit) })
    const seen: string[] = []
    const sizes: number[] = []
    for (let cursor: string | undefined; ; ) {
      const body = { deviceId, name: 'large', limit: 500, cursor }
      const page = await owner.invoke('devices_QueryPropertyHistory', body)
      seen.push(...page.changes.map(change => change.value as string))
      sizes.push(page.changes.length)
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    expect(sizes).toEqual([4, 4, 1])
    expect(seen.map(one => one.length === value(0).length && Number(one[0]))).toEqual([
      8, 7, 6, 5, 4, 3, 2, 1, 0,
    ])
  })
})

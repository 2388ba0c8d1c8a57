import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { ExecutorClient } from '@muster/link'
import { capturedLog, connectDevice, type FakeDevice, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const MIB = 1024 * 1024
const { limits } = loadConfig({})
const captured = capturedLog()
/** An answer is larger than the buffers of a socket, so the rest of it stays in the hub while the client reads nothing. */
const hub = await testHub(
  { limits: { ...limits, 'person-answer-bytes': 8 * MIB, 'device-answer-bytes': 8 * MIB } },
  captured.log,
)
afterAll(() => hub[Symbol.asyncDispose]())

let fleet: Awaited<ReturnType<typeof hub.fleet>>
let device: FakeDevice
beforeAll(async () => {
  fleet = await hub.fleet()
  device = await connectDevice({ url: hub.url, token: fleet.token })
  const { deviceId } = device
  for (let n = 0; n < 6; n++)
    await device.invoke('devices_SetProperty', { deviceId, name: `p${n}`, value: 'x'.repeat(MIB - 100) })
})
afterAll(() => device[Symbol.asyncDispose]())

/** Asks for 6 MiB, and reads nothing of the answer once it begins. */
async function askUnread({ cookie }: TestUser): Promise<Socket> {
  const body = JSON.stringify({ deviceId: device.deviceId })
  const { port } = hub.address
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  socket.write(
    [
      'POST /api/v1/actions/invoke/devices_QueryProperties HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      `Cookie: ${cookie}`,
      `Origin: ${hub.url}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )
  await once(socket, 'readable')
  return socket
}

const reached = (limit: string) => captured.named('a limit was hit').filter(line => line.limit === limit)

it('S27: a person has few unread answers, whoever else asks, and gets others once they are read', async () => {
  const { owner, organizationId } = fleet
  const { deviceId } = device
  const other = await hub.user()
  await hub.db
    .insertInto('organization_member')
    .values({ organization_id: organizationId, user_id: other.userId })
    .execute()
  const unread = await askUnread(owner)
  const ask = ({ invoke }: TestUser) => invoke('devices_QueryProperties', { deviceId })
  await expect
    .poll(() =>
      ask(owner).then(
        () => 'Answered',
        (error: { message: string }) => error.message,
      ),
    )
    .toMatch(
      /^Limit person-answer-bytes: found 12\d{6}, expected at most 8388608 bytes\. Read the answers to other calls first\./,
    )
  // Small answers and commands go on, and so do other people.
  expect(await owner.invoke('devices_GetDetails', { deviceId })).toMatchObject({ deviceId })
  await owner.invoke('organizations_SetName', { organizationId, name: 'Quay' })
  expect(Object.keys((await ask(other)).properties)).toHaveLength(6)
  expect(reached('person-answer-bytes')).toMatchObject([{ userId: owner.userId }])
  unread.resume()
  await expect
    .poll(() =>
      ask(owner).then(
        ({ properties }) => Object.keys(properties).length,
        () => 0,
      ),
    )
    .toBe(6)
  unread.destroy()
})

it('S27: a device has few unread answers over all of its links', async () => {
  const { token } = fleet
  const { deviceId, identity } = device
  const links = await Promise.all(
    [1, 2].map(() => connectDevice({ url: hub.url, token, identity, register: false })),
  )
  const { link, webSocket } = links[0]!
  const executor = new ExecutorClient(await link.open('executor'))
  executor.invoke('devices_QueryProperties', { deviceId }).catch(() => {})
  const begun = Promise.withResolvers<void>()
  const pauseAtAnswer = (data: Buffer): void => {
    // Only a part of the answer is this long.
    if (data.length < 1024) return
    webSocket.off('message', pauseAtAnswer).pause()
    begun.resolve()
  }
  webSocket.on('message', pauseAtAnswer)
  await begun.promise
  const ask = () =>
    links[1]!.invoke('devices_QueryProperties', { deviceId }).then(
      () => 'Answered',
      (error: { message: string }) => error.message,
    )
  await expect.poll(ask).toMatch(/^Limit device-answer-bytes: found \d+, expected at most 8388608 bytes\./)
  expect(await links[1]!.invoke('devices_SetProperty', { deviceId, name: 'small', value: 1 })).toEqual({
    result: 'Set',
  })
  webSocket.resume()
  await expect.poll(ask).toBe('Answered')
  for (const link of links) await link[Symbol.asyncDispose]()
})

it('S27: a caller who has read everything always gets an answer', async () => {
  await using small = await testHub({ limits: { ...limits, 'person-answer-bytes': 1 } })
  const { owner, token } = await small.fleet()
  await using own = await connectDevice({ url: small.url, token })
  const { deviceId } = own
  await own.invoke('devices_SetProperty', { deviceId, name: 'p', value: 'x'.repeat(MIB - 100) })
  for (let n = 0; n < 3; n++)
    expect(await owner.invoke('devices_QueryProperties', { deviceId })).toHaveProperty('properties.p')
})

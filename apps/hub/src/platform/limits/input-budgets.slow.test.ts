import type { Channel } from '@muster/link'
import { capturedLog, connectDevice, connectPerson, type FakeDevice, testHub } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'

const MIB = 1024 * 1024
const captured = capturedLog()
const hub = await testHub({}, captured.log)
afterAll(() => hub[Symbol.asyncDispose]())

/** Makes a request of 8 MiB without its last byte. */
function halfRequest(): Buffer {
  const name = 'actor_GetActor'
  const request = Buffer.alloc(6 + name.length + 8 * MIB - 1, 0x20)
  request.writeUInt16BE(name.length)
  request.write(name, 2)
  request.writeUInt32BE(8 * MIB, 2 + name.length)
  return request
}

const HALF = halfRequest()
const CHUNK = 64 * 1024

/** Sends the incomplete request on a new executor channel. */
async function sendHalf({ link }: Pick<FakeDevice, 'link'>): Promise<Channel> {
  const channel = await link.open('executor')
  // The link does not accept all 8 MiB in one write.
  for (let from = 0; from < HALF.length; from += CHUNK) await channel.write(HALF.subarray(from, from + CHUNK))
  return channel
}

it('S5: incomplete inputs of one device leave memory for others, and its refusals name the limit', {
  timeout: 60_000,
}, async () => {
  const { owner, token } = await hub.fleet()
  const identity = await (async () => {
    await using first = await connectDevice({ url: hub.url, token })
    return first.identity
  })()
  const links = await Promise.all(
    Array.from({ length: 3 }, () => connectDevice({ url: hub.url, token, identity, register: false })),
  )
  const { deviceId } = links[0]!
  // 33 inputs of 8 MiB exceed the memory that all links share.
  const channels = await Promise.all(
    links.flatMap(device => Array.from({ length: 11 }, () => sendHalf(device))),
  )
  // A large input of another tenant is still accepted.
  const other = await hub.fleet()
  await using neighbour = await connectDevice({ url: hub.url, token: other.token })
  const value = 'x'.repeat(MIB - 2)
  expect(
    await neighbour.invoke('devices_SetProperty', { deviceId: neighbour.deviceId, name: 'a', value }),
  ).toEqual({ result: 'Set' })
  await using person = await connectPerson(hub.url, await hub.userToken(owner))
  const large = await sendHalf({ link: person })
  await large.write(Buffer.from(' '))
  const answer = Buffer.from((await large.read())!).toString()
  expect(answer).toContain('"result":"Ok"')

  // Two of the inputs fit into the budget of the device. Each other input is refused once the device has sent the whole input.
  const answers = await Promise.all(
    channels.map(async channel => {
      await channel.write(Buffer.from(' '))
      return Buffer.from((await channel.read())!).toString()
    }),
  )
  const refused = answers.filter(text => !text.includes('"result":"Ok"'))
  expect(refused.length).toBeGreaterThanOrEqual(channels.length - 3)
  expect(refused.at(-1)).toMatch(
    /Limit device-input-bytes: found \d+, expected at most 16777216 bytes\. Send large inputs one after the other\./,
  )
  await expect
    .poll(async () => (await owner.invoke('devices_GetDetails', { deviceId })).limitHits)
    .toContainEqual(expect.objectContaining({ limit: 'device-input-bytes' }))
  // Closing the links frees their memory.
  for (const device of links) await device[Symbol.asyncDispose]()
  await using again = await connectDevice({ url: hub.url, token, identity })
  await expect
    .poll(async () => {
      const channel = await sendHalf(again)
      await channel.write(Buffer.from(' '))
      return Buffer.from((await channel.read())!).toString()
    })
    .toContain('"result":"Ok"')
})

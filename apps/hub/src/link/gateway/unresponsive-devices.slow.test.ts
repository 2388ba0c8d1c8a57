import { once } from 'node:events'
import { capturedLog, connectDevice, rawDevice, socketOf, testHub, until } from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'

const captured = capturedLog()
const hub = await testHub({}, captured.log)
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
})

const MIB = 1024 * 1024

describe('a device that keeps its connection but does not respond', { timeout: 70_000 }, () => {
  it('is disconnected when it requests much data and never reads, while others are served', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const device = await rawDevice({ url: hub.url, token })
    const { identity } = device
    const deviceId = await until('the device is shown as connected', async () => {
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      return devices[0]?.isConnected && devices[0].deviceId
    })
    await using bystander = await connectDevice({ url: hub.url, token })
    await using writer = await connectDevice({ url: hub.url, token, identity, register: false })
    await writer.invoke('devices_SetProperty', { deviceId, name: 'large', value: 'x'.repeat(MIB - 2) })
    const channels: number[] = []
    for (let id = 1; id <= 20; id++) channels.push(await device.openExecutor(id))
    socketOf(device.webSocket).pause()
    const before = process.memoryUsage().rss
    for (const receiverId of channels) {
      device.send({ type: 'ChannelAdjust', receiverId, frameCredit: 2 ** 30, byteCredit: 2 ** 31 })
      for (let n = 0; n < 100; n++) {
        const payload = request('devices_GetProperty', { deviceId, name: 'large' })
        device.send({ type: 'ChannelData', receiverId, payload })
      }
    }
    let slowest = 0
    let largest = 0
    const end = await until(
      'the connection ends',
      async () => {
        const from = performance.now()
        await bystander.invoke('actor_GetActor', {})
        slowest = Math.max(slowest, performance.now() - from)
        largest = Math.max(largest, process.memoryUsage().rss - before)
        return captured
          .named('connection ended')
          .find(line => line.deviceId === deviceId && line.isRegistered)
      },
      60_000,
    )
    expect(end.end).toBe('ConsumerTooSlow')
    expect(slowest).toBeLessThan(2_000)
    // The device requested 2,000 answers of 1 MiB on 20 channels. The hub may hold only one answer per channel, as text and as bytes.
    expect(largest).toBeLessThan(200 * MIB)
    // WebSocket close code 1013, "try again later", reaches the device if it reads again.
    const closed = once(device.webSocket, 'close')
    socketOf(device.webSocket).resume()
    expect((await closed)[0]).toBe(1013)
  })
})

function request(name: string, input: object): Buffer {
  const text = Buffer.from(JSON.stringify(input))
  const bytes = Buffer.alloc(6 + name.length)
  bytes.writeUInt16BE(name.length)
  bytes.write(name, 2)
  bytes.writeUInt32BE(text.length, 2 + name.length)
  return Buffer.concat([bytes, text])
}

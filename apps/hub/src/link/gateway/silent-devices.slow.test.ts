import { MAGIC } from '@muster/link'
import { capturedLog, rawDevice, testHub, until } from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'

// These tests wait for timeouts of the hub, so they run concurrently.

const captured = capturedLog()
const hub = await testHub({}, captured.log)
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
})

describe.concurrent('a device that keeps its connection but does not respond', { timeout: 70_000 }, () => {
  it('is disconnected when it never sends Hello', async () => {
    const device = await newDevice()
    expect(await endOf(device)).toMatchObject({ end: 'Timeout', reason: 'no Hello' })
    await device.closed
  })

  it('is disconnected when it never answers a Ping', async () => {
    const device = await newDevice()
    device.send({ type: 'Hello', magic: MAGIC, info: new Uint8Array() })
    expect(await endOf(device)).toMatchObject({ end: 'Timeout', reason: 'no Pong' })
    await device.closed
    expect(device.received.filter(({ type }) => type === 'Ping')).toHaveLength(1)
  })
})

async function newDevice() {
  const { owner, projectId, token } = await hub.fleet()
  const device = await rawDevice({ url: hub.url, token })
  const deviceId = await until('the device is shown as connected', async () => {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    return devices[0]?.isConnected && devices[0].deviceId
  })
  return { ...device, deviceId }
}

function endOf({ deviceId }: { deviceId: string }) {
  return until(
    'the end is in the log',
    () => captured.named('connection ended').find(line => line.deviceId === deviceId && line.isRegistered),
    60_000,
  )
}

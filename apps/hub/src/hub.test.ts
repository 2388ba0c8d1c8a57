import { connectDevice, testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'

it('shows a device that connects, with its properties and events', async () => {
  await using hub = await testHub()
  const { owner, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  await until('the device shows', async () => {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    return devices[0]?.isConnected && devices[0].deviceId === device.deviceId
  })
  const { deviceId } = device
  expect(await device.invoke('devices_SetProperty', { deviceId, name: 'a.b', value: { x: 1 } })).toEqual({
    result: 'Set',
  })
  await device.invoke('devices_PublishEvents', {
    deviceId,
    events: [
      {
        eventId: 'd_ev_20261121-1203-17czX8X1',
        severity: 'Info',
        body: 'hello',
        attributes: {},
        emittedAt: '2026-11-21T12:03:04.123456789Z',
      },
    ],
  })
  const { properties } = await owner.invoke('devices_QueryProperties', { deviceId })
  expect(properties['a.b']).toMatchObject({ value: { x: 1 }, version: 1, protected: false })
  const { events } = await owner.invoke('devices_QueryEvents', { deviceId, limit: 10 })
  expect(events).toMatchObject([{ body: 'hello', severity: 'Info' }])
})

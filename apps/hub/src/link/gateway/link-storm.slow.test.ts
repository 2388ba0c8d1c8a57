import { askUpgrade, deviceHeaders, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { bareDevice, countOf, openInRow } from './testing/bare-device.ts'

it('S4: admits 300 devices after a power cut, each with ten unregistered links in a row', {
  timeout: 120_000,
}, async () => {
  await using usual = await testHub({})
  const { owner, projectId, tokenId, token } = await usual.fleet()
  const devices = Array.from({ length: 300 }, () => bareDevice(usual, token))
  const first = await Promise.all(devices.map(device => device.open(true)))
  expect(countOf(first, 101)).toBe(300)
  for (const device of devices) device.end()
  const statuses = await Promise.all(
    devices.map(async device => {
      const registered = await askUpgrade(
        usual.url,
        deviceHeaders({ url: usual.url, token }, device.identity),
      )
      const inRow = await openInRow(device, 10)
      registered.socket?.destroy()
      return [registered.status, ...inRow]
    }),
  )
  expect(new Set(statuses.flat())).toEqual(new Set([101]))
  const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
  expect(tokens.find(one => one.tokenId === tokenId)).toMatchObject({
    enrolledDevices: 300,
    refusedDevices: 0,
  })
})

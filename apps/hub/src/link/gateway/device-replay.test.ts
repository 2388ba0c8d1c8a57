import { type Age, publicUpdate, replayDevice, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

// These tests check that the calls of published Nexigon agents and update scripts exceed no default limit (docs/protocol.md 3.7, 3.8, 9).

let hub: TestHub
beforeAll(async () => {
  hub = await testHub()
})
afterAll(() => hub[Symbol.asyncDispose]())

it.each<Age>(['2025', '2026'])('a device of %s starts, runs its commands, and updates itself', async age => {
  const fleet = await hub.fleet()
  const { owner, projectId, token } = fleet
  const update = await publicUpdate(hub, fleet)
  await replayDevice({ url: hub.url, token, age, update })
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
  const { deviceId } = devices[0]!
  const stored = await owner.invoke('devices_GetProperty', { deviceId, name: 'dev.nexigon.ota.status' })
  expect(stored).toMatchObject({ value: { state: 'completed', currentVersion: '2.0.0' } })
  const { events } = await owner.invoke('devices_QueryEvents', { deviceId })
  expect(events.map(({ body }) => body)).toEqual(
    expect.arrayContaining(['update installed, rebooting', 'update completed', 'no update available']),
  )
})

it('ten devices of each generation update at once with one token', { timeout: 30_000 }, async () => {
  const fleet = await hub.fleet()
  const update = await publicUpdate(hub, fleet)
  const replays = (['2025', '2026'] as const).flatMap(age =>
    Array.from({ length: 10 }, () => replayDevice({ url: hub.url, token: fleet.token, age, update })),
  )
  expect(await Promise.all(replays)).toHaveLength(20)
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import {
  connectPerson,
  type DevicePage,
  devicePage,
  forwardEnd,
  secondNode,
  type TestHub,
  type TestNode,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { PreparingClient } from '../../platform/database/client/preparing-client.ts'

/** The node to which the device is connected, and another node. */
let holder: TestHub
let other: TestNode
let page: DevicePage
/** A member of the device's organization. */
let friend: TestUser
const app = createServer((_request, response) => void response.write('begun'))
const echo = createTcpServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))

beforeAll(async () => {
  holder = await testHub({ nodePort: 0 })
  other = await secondNode(holder, { nodePort: 0 })
  for (const server of [app, echo]) await once(server.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(holder, app)
  friend = await holder.user()
})
beforeEach(async () => {
  const { organization_id } = await holder.db
    .selectFrom('device')
    .innerJoin('project', 'project.project_id', 'device.project_id')
    .where('device_id', '=', page.device.deviceId)
    .select('organization_id')
    .executeTakeFirstOrThrow()
  await holder.db
    .insertInto('organization_member')
    .values({ organization_id, user_id: friend.userId })
    .execute()
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await holder[Symbol.asyncDispose]()
  app.closeAllConnections()
  for (const server of [app, echo]) server.close()
})

/** Removes the membership through no node, so that both nodes find its end by their own look-ups only. */
const removeFriend = () =>
  holder.db.deleteFrom('organization_member').where('user_id', '=', friend.userId).execute()

/** Intervals after which open channels look their rights up, controlled by the test until disposal. */
function fakeIntervals(lookUp: RegExp) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const queries = vi.spyOn(PreparingClient.prototype, 'query')
  const count = (): number =>
    queries.mock.calls.filter(([query]) => lookUp.test(typeof query === 'string' ? query : query.text!))
      .length
  return {
    pass: () => vi.advanceTimersByTime(4_000),
    /** Number of look-ups in five intervals, of which each has at least `least`. */
    async lookUpsOfFive(least: number): Promise<number> {
      queries.mockClear()
      for (let interval = 1; interval <= 5; interval++) {
        vi.advanceTimersByTime(4_000)
        await until('the right is looked up', () => count() >= interval * least)
      }
      return count()
    },
    [Symbol.dispose]() {
      queries.mockRestore()
      vi.useRealTimers()
    },
  }
}

it('H2: looks a right up once for 16 forwards of a person to a device, and ends all of them with it on both nodes', async () => {
  const token = await holder.userToken(friend)
  await using near = await connectPerson(holder.url, token)
  await using far = await connectPerson(other.url, token)
  const endpoint = `device/${page.device.deviceId}/proxy/forward/tcp/${(echo.address() as AddressInfo).port}`
  for (const link of [near, far]) {
    const first = await link.open(endpoint)
    first.end()
    expect(await forwardEnd(first)).toBe('end')
  }
  const idleCount = page.device.link.channelCount
  using intervals = fakeIntervals(/from device d join project p .*\n.*organization_member/)
  const forwards = [await near.open(endpoint), await far.open(endpoint)]
  expect(await intervals.lookUpsOfFive(2)).toBe(10)
  while (forwards.length < 16) forwards.push(await near.open(endpoint), await far.open(endpoint))
  expect(page.device.link.channelCount).toBe(idleCount + 16)
  expect(await intervals.lookUpsOfFive(2)).toBe(10)

  const ends = forwards.map(forwardEnd)
  await removeFriend()
  intervals.pass()
  expect(await Promise.all(ends)).toEqual(ends.map(() => 'error'))
  await until('the device has no channel left', () => page.device.link.channelCount === idleCount)
})

it('H2: looks a right up once for eight requests to web pages of a device, and ends all of them with it on both nodes', async () => {
  const { port } = app.address() as AddressInfo
  const link = { deviceId: page.device.deviceId, port }
  const { url, jwt } = await friend.invoke('devices_IssueHttpProxyToken', link)
  const headers = { host: new URL(url).host, cookie: `muster-device=${jwt}` }
  const open = async () => [
    await page.ask('/', { headers, agent: false }),
    await page.ask('/', { headers, agent: false, port: other.address.port }),
  ]
  const idleCount = page.device.link.channelCount
  using intervals = fakeIntervals(/from proxy_token t/)
  const answers = await open()
  expect(await intervals.lookUpsOfFive(2)).toBe(10)
  while (answers.length < 8) answers.push(...(await open()))
  expect(await intervals.lookUpsOfFive(2)).toBe(10)

  const ends = answers.map(answer => expect(answer.toArray()).rejects.toThrow('aborted'))
  await removeFriend()
  intervals.pass()
  await Promise.all(ends)
  await until('the device has no channel left', () => page.device.link.channelCount === idleCount)
})

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import {
  connectDevice,
  connectPerson,
  type FakeDevice,
  failed,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Right, ROLES } from './rights.ts'

let hub: TestHub
let owner: TestUser
let member: TestUser
let organizationId: string
let device: FakeDevice
/** A port of the device on which no web server listens. */
const port = 9

const before = new Set(ROLES.Member)

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  member = await hub.user()
  organizationId = await hub.organization(owner, [member])
  const projectId = await hub.project(owner, organizationId)
  device = await connectDevice({ url: hub.url, token: (await hub.token(owner, projectId)).token })
  await hub.repository(owner, organizationId, { name: 'firmware' })
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
afterEach(() => {
  for (const right of before) ROLES.Member.add(right)
})

/** Makes the role Member one of fewer rights, as roles of an organization may be. */
function withoutRight(right: Right): void {
  ROLES.Member.delete(right)
}

/** Answer for a web page of the device, with the cookie of a link. Its status is 401 if the link opens none. */
async function pageAt(host: string, path: string, cookie = ''): Promise<IncomingMessage> {
  const headers = { host: `${host}:${hub.address.port}`, cookie }
  const outgoing = request({ port: hub.address.port, host: '127.0.0.1', path, headers }).end()
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  answer.resume()
  return answer
}

it('a role without the right to manage devices loses their web pages and ports', async () => {
  const { deviceId } = device
  const { url } = await member.invoke('devices_IssueHttpProxyToken', { deviceId, port })
  const { hostname, pathname, search } = new URL(url)
  const { headers } = await pageAt(hostname, pathname + search)
  const page = async () => (await pageAt(hostname, '/', headers['set-cookie']![0]!.split(';')[0])).statusCode
  await using cli = await connectPerson(hub.url, await hub.userToken(member))
  const opening = () =>
    cli.open(`device/${deviceId}/proxy/forward/tcp/${port}`).then(
      () => 'opened',
      (error: Error) => error.message,
    )
  expect(await page()).not.toBe(401)
  expect(await opening()).not.toContain('forbidden')
  withoutRight('manage')
  expect(await page()).toBe(401)
  expect(await opening()).toContain('forbidden')
  expect(await failed(member.invoke('devices_IssueHttpProxyToken', { deviceId, port }))).toMatchObject({
    kind: 'Forbidden',
  })
})

it('a role without the right to view loses live changes and the entries of lists', async () => {
  const { deviceId } = device
  const seenBy = async (person: TestUser) => ({
    organizations: (await person.invoke('organizations_Query', {})).organizations.length,
    projects: (await person.invoke('projects_Query', {})).projects.length,
    devices: (await person.invoke('devices_Query', {})).devices.length,
    ...(await person.invoke('users_GetDevicePermissions', { userId: person.userId, deviceId })),
  })
  const ofOwner = await seenBy(owner)
  expect(ofOwner).toEqual({ organizations: 1, projects: 1, devices: 1, hasAccess: true })
  expect(await seenBy(member)).toEqual(ofOwner)
  withoutRight('view')
  expect(await seenBy(owner)).toEqual(ofOwner)
  expect(await seenBy(member)).toEqual({ organizations: 0, projects: 0, devices: 0, hasAccess: false })
  await using ownerStream = await liveStream(hub, owner)
  await using memberStream = await liveStream(hub, member)
  await owner.invoke('devices_SetName', { deviceId, name: 'renamed' })
  await until('the owner is notified', () => ownerStream.changes.some(({ topic }) => topic === 'devices'))
  expect(memberStream.changes).toEqual([])
})

it('a role without the right to read loses the names and bytes of repositories', async () => {
  const resolve = () => member.invoke('repositories_ResolveName', { repository: 'firmware' })
  const found = await resolve()
  expect(found).toMatchObject({ result: 'Found' })
  if (found.result !== 'Found') return
  const { repositoryId } = found
  withoutRight('read')
  expect(await resolve()).toEqual({ result: 'NotFound' })
  expect(await failed(member.invoke('repositories_GetDetails', { repositoryId }))).toMatchObject({
    kind: 'Forbidden',
  })
  expect(await owner.invoke('repositories_GetDetails', { repositoryId })).toMatchObject({ repositoryId })
})

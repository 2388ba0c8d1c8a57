import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DevicePage, devicePage, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostLabel } from './hosts.ts'

let hub: TestHub
/** Two web applications of one device. Each answers with its name and the method of the request. */
let first: Server
let second: Server
let page: DevicePage

beforeAll(async () => {
  hub = await testHub()
  first = await application('first')
  second = await application('second')
  page = await devicePage(hub, first)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  for (const app of [first, second]) {
    app.closeAllConnections()
    app.close()
  }
})

async function application(name: string): Promise<Server> {
  const app = createServer((request, response) => response.end(`${name} got ${request.method}`))
  await once(app.listen(0, '127.0.0.1'), 'listening')
  return app
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** Opens a link as a browser does: the cookie of a host replaces the one that this host had before. */
async function open(cookies: Map<string, string>, port?: number): Promise<string> {
  const { deviceId } = page.device
  const { url } = await page.owner.invoke('devices_IssueHttpProxyToken', {
    deviceId,
    ...(port !== undefined && { port }),
  })
  const { host, pathname, search } = new URL(url)
  const answer = await page.ask(pathname + search, { headers: { host, cookie: cookies.get(host) ?? '' } })
  expect(answer.statusCode).toBe(303)
  cookies.set(host, answer.headers['set-cookie']![0]!.split(';')[0]!)
  return host
}

async function textAt(host: string, cookie: string, method = 'GET'): Promise<string> {
  const answer = await page.ask('/', { method, headers: { host, cookie } })
  return Buffer.concat(await answer.toArray()).toString()
}

describe('D8: two ports of a device', () => {
  it('D8: have host names of their own, so that the tab of the first keeps its application', async () => {
    const cookies = new Map<string, string>()
    const tab = await open(cookies, portOf(first))
    const other = await open(cookies, portOf(second))
    expect(await textAt(tab, cookies.get(tab)!, 'POST')).toBe('first got POST')
    expect(await textAt(other, cookies.get(other)!, 'POST')).toBe('second got POST')
    // The token of one port opens no other one.
    const foreign = await page.ask('/', { headers: { host: tab, cookie: cookies.get(other)! } })
    expect(foreign.statusCode).toBe(401)
  })

  it('D8: have labels of which only that of port 80 is derived from the id alone', async () => {
    const { deviceId } = page.device
    const host = await open(new Map())
    expect(host.split('.')[0]).toBe(hostLabel(deviceId))
    expect(hostLabel(deviceId, 80)).toBe(hostLabel(deviceId))
    expect(hostLabel(deviceId, 8080)).toMatch(/^[a-z0-9]{50}$/)
    expect(new Set([80, 8080, 8081].map(port => hostLabel(deviceId, port))).size).toBe(3)
  })

  it('D8: are still reached by links to the host name that all ports had', async () => {
    const former = `${hostLabel(page.device.deviceId)}.localhost`
    await hub.db
      .updateTable('proxy_token')
      .set({ hostname: former })
      .where('port', '=', portOf(first))
      .execute()
    expect(await textAt(`${former}:${hub.address.port}`, page.cookie)).toBe('first got GET')
  })
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DevicePage, devicePage, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let page: DevicePage
let port: number
/** Answers with the header and the value that the query names. */
const app = createServer((request, response) => {
  const query = new URL(request.url!, 'http://app').searchParams
  response.statusCode = query.has('Location') ? 302 : 200
  for (const [name, value] of query) response.setHeader(name, Buffer.from(value).toString('latin1'))
  response.end()
})

beforeAll(async () => {
  hub = await testHub()
  await once(app.listen(0, '127.0.0.1'), 'listening')
  ;({ port } = app.address() as AddressInfo)
  page = await devicePage(hub, app)
  const { deviceId } = page.device
  const networks = [{ name: 'eth0', ipAddresses: ['192.0.2.7/24', '2001:db8::7/64'] }]
  await page.device.invoke('devices_SetProperty', {
    deviceId,
    name: 'dev.nexigon.system.info',
    value: { networks },
  })
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
})

/** The value of a header as the browser gets it. */
async function sent(name: string, value: string): Promise<string> {
  const answer = await page.ask(`/?${name}=${encodeURIComponent(value)}`)
  answer.resume()
  return String(answer.headers[name.toLowerCase()])
}

/** The device, port, protocol and path that a URL of the console offers to open. */
function offeredBy(address: string) {
  const { organizationId, projectId } = hub.devices.get(page.device.deviceId)!
  const url = new URL(address)
  expect(url.origin + url.pathname + url.hash).toBe(
    `${hub.publicUrl}/${organizationId}/projects/${projectId}/devices/${page.device.deviceId}#web`,
  )
  return Object.fromEntries(url.searchParams)
}

describe('D6: a redirect of a device to itself', () => {
  it('D6: by a loopback host or one of its addresses leads to its page, at the opened port', async () => {
    const own = `http://${page.host}`
    for (const host of ['localhost', 'LOCALHOST.', '127.0.0.1', '127.0.1.1', '127.1', '0.0.0.0', '[::1]'])
      expect(await sent('Location', `http://${host}:${port}/home?x=1#y`), host).toBe(`${own}/home?x=1#y`)
    for (const host of ['192.0.2.7', '[2001:db8::7]', '[2001:DB8:0::7]'])
      expect(await sent('Location', `http://${host}:${port}`), host).toBe(own)
    expect(await sent('Location', `//localhost:${port}/home`)).toBe(`${own}/home`)
    expect(await sent('Content-Location', `http://localhost:${port}/a`)).toBe(`${own}/a`)
    expect(await sent('Refresh', `5; url=http://localhost:${port}/a`)).toBe(`5; url=${own}/a`)
    expect(await sent('Refresh', `0;URL='http://192.0.2.7:${port}/a'`)).toBe(`0;URL='${own}/a'`)
  })

  it('D6: at another port leads to the page of the console that offers to open it', async () => {
    const to = async (location: string) => offeredBy(await sent('Location', location))
    expect(await to('http://localhost:3000/grafana?x=1&y=ä#z')).toEqual({
      port: '3000',
      protocol: 'http',
      path: '/grafana?x=1&y=ä#z',
    })
    expect(await to('https://192.0.2.7')).toEqual({ port: '443', protocol: 'https' })
    expect(await to('https://[2001:db8::7]:8443?a')).toEqual({
      port: '8443',
      protocol: 'https',
      path: '/?a',
    })
    // The same port with another protocol is not what this link opens.
    expect(await to(`https://127.0.0.1:${port}/`)).toEqual({ port: String(port), protocol: 'https' })
    const [time, address] = (await sent('Refresh', '3;url=http://localhost/a')).split('url=')
    expect(time).toBe('3;')
    expect(offeredBy(address!)).toEqual({ port: '80', protocol: 'http', path: '/a' })
    // It names a document and leads nowhere.
    expect(await sent('Content-Location', 'http://localhost:3000/a')).toBe('http://localhost:3000/a')
  })

  it('D6: from HTTP to HTTPS under the same path leads to the offer, and does not go on without end', async () => {
    const device = createServer((request, response) => {
      const [host] = request.headers.host!.split(':')
      const at = request.url === '/port' ? request.headers.host : host
      if (request.url === '/cookie') response.setHeader('set-cookie', 'a=1')
      response.writeHead(301, { location: `https://${at}${request.url}` }).end()
    })
    await once(device.listen(0, '127.0.0.1'), 'listening')
    await using other = await devicePage(hub, device)
    const at = async (path: string, method = 'GET') => {
      const answer = await other.ask(path, { method })
      answer.resume()
      return String(answer.headers.location)
    }
    const searchOf = (address: string) => Object.fromEntries(new URL(address).searchParams)
    expect(searchOf(await at('/'))).toEqual({ port: '443', protocol: 'https' })
    expect(searchOf(await at('/a?b'))).toEqual({ port: '443', protocol: 'https', path: '/a?b' })
    expect(searchOf(await at('/port'))).toEqual({ port: '443', protocol: 'https', path: '/port' })
    expect(await at('/cookie')).toBe(`http://${other.host}/cookie`)
    expect(await at('/', 'POST')).toBe(`http://${other.host}/`)
    device.closeAllConnections()
    device.close()
  })

  it('D6: stays unchanged if it leads to another machine', async () => {
    for (const other of [
      'http://192.0.2.8/',
      `http://192.0.2.70:${port}/`,
      `http://localhost:${port}@evil.example/`,
      `http://localhost.example:${port}/`,
      `http://me@localhost:${port}/`,
      'http://localhost:99999/',
      'ftp://localhost/',
      '/relative',
      '5',
    ]) {
      expect(await sent('Location', other), other).toBe(other)
      expect(await sent('Refresh', `0; url=${other}`), other).toBe(`0; url=${other}`)
    }
    expect(await sent('Refresh', '30')).toBe('30')
  })
})

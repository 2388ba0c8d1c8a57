import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import {
  ask,
  askUpgrade,
  capturedLog,
  connectDevice,
  devicePage,
  digestOf,
  liveStream,
  putBytes,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const { limits } = loadConfig({})
const SECRET = 'secret of the proxy in these tests'
const PROXY = '127.0.0.9'

const { log, named } = capturedLog()
/** Hub with 400 file descriptors, so one address may have 100 connections. Other addresses of this machine are those of other clients. */
const hub = await testHub(
  {
    maxDescriptors: 400,
    countsLoopback: true,
    trustedProxies: [`${PROXY}/32`],
    proxySecret: SECRET,
    limits: { ...limits, 'person-links': 8, 'person-page-requests': 3, 'address-body-bytes': 10 * 64_000 },
  },
  log,
)
const { port } = hub.address
afterAll(() => hub[Symbol.asyncDispose]())

/** A raw connection. `text` is all that the hub has sent. */
type Raw = { socket: Socket; text: () => string }

/** Opens a connection from a local address, sends this text, and leaves the connection open. */
function open(localAddress: string, sent: string): Raw {
  let text = ''
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
  socket.on('data', chunk => (text += String(chunk)))
  socket.write(sent)
  return { socket, text: () => text }
}

/** Sends a request whose head has these lines, over a connection of its own that stays open. */
function send(localAddress: string, line: string, ...headers: string[]): Raw {
  return open(localAddress, `${[`${line} HTTP/1.1`, 'Host: hub', ...headers].join('\r\n')}\r\n\r\n`)
}

/** Sends a POST whose body never comes. */
function sendHalf(localAddress: string, ...headers: string[]): Raw {
  const body = ['Content-Type: application/json', 'Content-Length: 100']
  return send(localAddress, 'POST /api/v1/actions/invoke/actor_GetActor', ...body, ...headers)
}

/** Status of a health check from a local address over a connection of its own. */
async function healthFrom(localAddress: string): Promise<number> {
  const asked = request({ port, host: '127.0.0.1', localAddress, path: '/healthz', agent: false }).end()
  const [response] = await once(asked, 'response')
  response.resume()
  return response.statusCode
}

const statusOf = ({ text }: Raw): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text())?.[1] ?? 0)
const countOf = (all: Raw[], status: number): number => all.filter(one => statusOf(one) === status).length
const openOf = (all: Raw[]): Raw[] => all.filter(({ socket }) => !socket.destroyed && !socket.readableEnded)

function destroyAll(all: Raw[]): void {
  for (const { socket } of all) socket.destroy()
}

/** Log lines about limits of an address or person. */
const hits = (subject: object) =>
  named('a limit was hit').filter(line =>
    Object.entries(subject).every(([field, value]) => line[field] === value),
  )

describe('connections of one address', () => {
  it('S27: that stay idle after a request are closed beyond its bound, the longest idle first', async () => {
    const other = send('127.0.0.3', 'GET /healthz')
    await expect.poll(() => statusOf(other)).toBe(200)
    const all: Raw[] = []
    for (let count = 0; count < 160; count++) {
      all.push(send('127.0.0.2', 'GET /healthz'))
      if (count % 20 === 19) await expect.poll(() => countOf(all, 200)).toBe(count + 1)
    }
    // Each of them got its answer.
    await expect.poll(() => openOf(all).length).toBeLessThanOrEqual(100)
    expect(openOf(all).length).toBeGreaterThan(90)
    expect(openOf(all).every(one => all.indexOf(one) >= 50)).toBe(true)
    expect(other.socket.destroyed).toBe(false)
    expect(hits({ address: '127.0.0.2' })).toMatchObject([{ limit: 'address-connections', count: 1 }])
    expect(hits({ address: '127.0.0.3' })).toEqual([])
    const reports = `select data->>'count' as count from audit_event
                      where event = 'limits_Reached' and data->>'address' = '127.0.0.2'`
    await expect.poll(async () => (await hub.pool.query(reports)).rows).toEqual([{ count: '1' }])
    destroyAll([...all, other])
  })

  it('S27: whose bodies never come are refused beyond its bound; health checks and other addresses are answered', async () => {
    const person = await hub.user()
    const all = Array.from({ length: 160 }, () => sendHalf('127.0.0.4'))
    await expect.poll(() => countOf(all, 429)).toBeGreaterThan(0)
    await expect.poll(() => openOf(all).length).toBeLessThanOrEqual(100)
    const refused = all.find(one => statusOf(one) === 429)!
    expect(refused.text()).toMatch(/^retry-after: 10\r$/m)
    expect(refused.text()).toMatch(
      /"Limit address-connections: found \d+, expected at most 100 connections\. Close connections that are not used, or try again later\."/,
    )
    expect(await healthFrom('127.0.0.4')).toBe(200)
    expect(await person.invoke('organizations_Query', {})).toHaveProperty('organizations')
    expect(hits({ address: '127.0.0.4' })).toHaveLength(1)
    destroyAll(all)
    await expect.poll(async () => statusOf(await answered(sendHalf('127.0.0.4')))).toBe(0)
  })

  it('S27: through a trusted proxy count for the address of the client, once the head is read', async () => {
    const through = (client: string) => [`X-Forwarded-For: ${client}`, `X-Muster-Proxy-Secret: ${SECRET}`]
    const idle = Array.from({ length: 60 }, () => send(PROXY, 'GET /healthz', ...through('203.0.113.1')))
    await expect.poll(() => countOf(idle, 200)).toBe(60)
    const all = Array.from({ length: 110 }, () => sendHalf(PROXY, ...through('203.0.113.1')))
    await expect.poll(() => countOf(all, 429)).toBe(10)
    // Idle connections belong to the proxy.
    expect(openOf(idle)).toHaveLength(60)
    const others = Array.from({ length: 5 }, (_, at) => sendHalf(PROXY, ...through(`203.0.113.${at + 2}`)))
    const check = send(PROXY, 'GET /healthz', ...through('203.0.113.1'))
    await expect.poll(() => statusOf(check)).toBe(200)
    expect(countOf(others, 429)).toBe(0)
    expect(hits({ address: '203.0.113.1' })).toHaveLength(1)
    expect(hits({ address: PROXY })).toEqual([])
    destroyAll([...idle, ...all, ...others, check])

    // A client with the address of a proxy and without its secret is a client.
    const clients = Array.from({ length: 110 }, () => sendHalf(PROXY))
    await expect.poll(() => countOf(clients, 429)).toBe(10)
    destroyAll(clients)
  })

  it('S27: are closed when descriptors are short, and leave room for others', async () => {
    const all: Raw[] = []
    // 300 connections of eight addresses. HTTP connections and links may hold 300 of the 400 descriptors.
    for (let address = 1; address <= 8; address++) {
      const some = Array.from({ length: 45 }, () => send(`127.0.1.${address}`, 'GET /healthz'))
      await expect.poll(() => countOf(some, 200)).toBe(45)
      all.push(...some)
    }
    await expect.poll(() => openOf(all).length).toBeLessThanOrEqual(300)
    expect(hub.shares.held().http).toBeLessThanOrEqual(300)
    const { token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    expect(device.deviceId).toMatch(/^d_/)
    expect(await healthFrom('127.0.0.5')).toBe(200)
    expect(named('few file descriptors are free, so idle connections are closed')).toMatchObject([
      { max: 300, remote: expect.stringMatching(/^127\.0\.1\./) },
    ])
    destroyAll(all)
  })

  it('S27: leave room for health checks of trusted proxies when descriptors are short and none is idle', async () => {
    const all: Raw[] = []
    for (let address = 1; address <= 4; address++)
      all.push(...Array.from({ length: 90 }, () => sendHalf(`127.0.3.${address}`)))
    await expect.poll(() => openOf(all).length).toBeLessThanOrEqual(300)
    await expect.poll(() => hub.shares.held().http).toBe(300)
    for (let count = 0; count < 3; count++) expect(await healthFrom(PROXY)).toBe(200)
    const other = send(PROXY, 'GET /', 'Connection: close')
    await expect.poll(() => statusOf(other)).toBe(503)
    expect(other.text()).toContain('The hub has no free file descriptors for this connection')
    destroyAll(all)
    await expect.poll(() => hub.shares.held().http).toBeLessThan(100)
  })

  it('S27: send small bodies up to a bound; further ones are refused, and other addresses are served', async () => {
    const body = ['Content-Type: application/json', 'Content-Length: 64000']
    const sendBody = (address: string) => send(address, 'POST /api/v1/actions/invoke/actor_GetActor', ...body)
    const all = Array.from({ length: 12 }, () => sendBody('127.0.0.7'))
    await expect.poll(() => countOf(all, 429)).toBe(2)
    expect(all.find(one => statusOf(one) === 429)!.text()).toMatch(
      /Limit address-body-bytes: found 704000, expected at most 640000 bytes/,
    )
    const other = sendBody('127.0.0.8')
    expect(await healthFrom('127.0.0.7')).toBe(200)
    expect(statusOf(other)).toBe(0)
    destroyAll([...all, other])
    await expect
      .poll(async () => {
        const again = sendBody('127.0.0.7')
        await healthFrom('127.0.0.7')
        again.socket.destroy()
        return statusOf(again)
      })
      .toBe(0)
  })

  it('S27: without a request are closed beside more addresses than are compared', async () => {
    await using large = await testHub({ maxDescriptors: 6_000, countsLoopback: true })
    const reach = (localAddress: string, sent: string): Socket => {
      const target = { port: large.address.port, host: '127.0.0.1', localAddress }
      const socket = connect(target).on('error', () => {})
      socket.write(sent)
      return socket
    }
    const half =
      'POST /api/v1/actions/invoke/actor_GetActor HTTP/1.1\r\nHost: hub\r\nContent-Length: 100\r\n\r\n'
    const requests = Array.from({ length: 1_000 }, (_, at) => reach(`127.1.${at >> 8}.${at & 255}`, half))
    await expect.poll(() => large.shares.held().http).toBe(1_000)
    const bare = Array.from({ length: 6 * 260 }, (_, at) => reach(`127.2.0.${1 + (at % 6)}`, 'G'))
    await expect
      .poll(() => bare.some(({ destroyed, readableEnded }) => destroyed || readableEnded))
      .toBe(true)
    for (const socket of bare) socket.destroy()
    await expect.poll(() => large.shares.held().http).toBe(1_000)
    const { status } = await fetch(`${large.url}/healthz`)
    expect(status).toBe(200)
    for (const socket of requests) socket.destroy()
  })

  it('S27: do not include links of devices', async () => {
    await using small = await testHub({
      countsLoopback: true,
      limits: { ...limits, 'address-connections': 4 },
    })
    const { token } = await small.fleet()
    await using devices = new AsyncDisposableStack()
    for (let count = 0; count < 6; count++)
      devices.use(await connectDevice({ url: small.url, token, register: count > 0 }))
    expect(small.devices.count).toBe(6)
    expect((await ask(small, '/healthz')).status).toBe(200)
  })

  it('S27: of this machine are not counted', async () => {
    await using small = await testHub({ limits: { ...limits, 'address-connections': 2 } })
    const person = await small.user()
    const invokes = Array.from({ length: 8 }, () => person.invoke('organizations_Query', {}))
    expect(await Promise.all(invokes)).toHaveLength(8)
  })
})

/** Waits until the hub has answered or has had the time for it: a health check over another connection. */
async function answered(one: Raw): Promise<Raw> {
  await healthFrom('127.0.0.6')
  return one
}

describe('connections of one person', () => {
  it('S27: are at most 20 live streams, with any sessions; other people and the next stream after a close are served', async () => {
    const [person, other] = [await hub.user(), await hub.user()]
    const streams = await Promise.all(Array.from({ length: 20 }, () => liveStream(hub, person)))
    const refused = await ask(hub, '/api/v1/live', { as: person })
    expect(refused).toMatchObject({ status: 429 })
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(refused.json()).toMatchObject({
      kind: 'RateLimited',
      message:
        'Limit person-streams: found 21, expected at most 20 streams. Close consoles in other browsers, or wait until exports have ended.',
    })
    const token = await hub.userToken(person)
    expect((await ask(hub, '/api/v1/export/organizations_Query.csv', { token })).status).toBe(429)
    expect((await ask(hub, '/api/v1/export/organizations_Query.csv', { as: other })).status).toBe(200)
    await using _other = await liveStream(hub, other)
    expect(await person.invoke('organizations_Query', {})).toHaveProperty('organizations')
    expect(hub.shares.held().most.person).toBe(20)
    await streams.pop()![Symbol.asyncDispose]()
    await expect.poll(() => hub.shares.held().most.person).toBe(19)
    streams.push(await liveStream(hub, person))
    for (const stream of streams) await stream[Symbol.asyncDispose]()
    expect(hits({ userId: person.userId })).toMatchObject([{ limit: 'person-streams', count: 1 }])
  })

  it('S27: are at most as many links of command lines as the limit says; an old token is only warned about', async () => {
    const person = await hub.user()
    const token = await hub.userToken(person)
    const openLinks = (bearer: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, () => askUpgrade(hub.url, { authorization: `Bearer ${bearer}` })),
      )
    const links = await openLinks(token, 8)
    expect(links.map(({ status }) => status)).toEqual(Array(8).fill(101))
    const old = await hub.userToken(person)
    // The answer to another token of the person is the same.
    const [refused] = await openLinks(old, 1)
    expect(refused).toMatchObject({
      status: 429,
      retryAfterSecs: 30,
      body: {
        kind: 'RateLimited',
        message:
          'Limit person-links: found 9, expected at most 8 links. Close links of command lines that are not used any more.',
      },
    })
    await hub.pool.query('update user_token set predates_shares = true where user_id = $1', [person.userId])
    const [warned] = await openLinks(old, 1)
    expect(warned).toMatchObject({ status: 101 })
    expect(hits({ userId: person.userId })).toMatchObject([{ limit: 'person-links', count: 1 }])
    for (const { socket } of [...links, warned!]) socket!.destroy()
  })

  it('S27: leave three quarters of the descriptors to devices, and half of them for an old token, which is warned about', async () => {
    await using large = await testHub({ maxDescriptors: 400 }, log)
    const { owner, token } = await large.fleet()
    const bearer = await large.userToken(owner)
    const openLinks = async (count: number) => {
      const links = []
      for (let opened = 0; opened < count; opened++)
        links.push(await askUpgrade(large.url, { authorization: `Bearer ${bearer}` }))
      return links
    }
    // Links may hold 200 of the 400 descriptors; a person holds a quarter of those that are free.
    const links = await openLinks(52)
    const admitted = links.filter(({ status }) => status === 101)
    expect(admitted.length).toBeGreaterThan(40)
    expect(admitted.length).toBeLessThanOrEqual(50)
    const message =
      'Limit person-link-share: found 26, expected at most 25 percent of the free descriptors. Close links of command lines that are not used any more.'
    expect(links.at(-1)).toMatchObject({ status: 429, body: { message } })
    // The release before let them hold half.
    await large.pool.query('update user_token set predates_shares = true where user_id = $1', [owner.userId])
    const old = await openLinks(60)
    admitted.push(...old.filter(({ status }) => status === 101))
    expect(admitted.length).toBeGreaterThan(90)
    expect(admitted.length).toBeLessThanOrEqual(100)
    expect(old.at(-1)).toMatchObject({ status: 429 })
    await using device = await connectDevice({ url: large.url, token })
    expect(device.deviceId).toMatch(/^d_/)
    for (const { socket } of admitted) socket!.destroy()
  })

  it('S27: include open requests to web pages of devices; further ones get a page that names the limit', async () => {
    const service = createServer((_request, response) => void response.write('begun'))
    await once(service.listen(0, '127.0.0.1'), 'listening')
    await using page = await devicePage(hub, service)
    const begun = await Promise.all([page.ask('/1'), page.ask('/2'), page.ask('/3')])
    const refused = await page.ask('/4')
    expect(refused.statusCode).toBe(429)
    let html = ''
    for await (const chunk of refused) html += String(chunk)
    expect(html).toContain('Limit person-page-requests: found 4, expected at most 3 requests and WebSockets.')
    expect(hits({ userId: page.owner.userId })).toHaveLength(1)
    begun[0].destroy()
    await expect
      .poll(async () => {
        const answer = await page.ask('/5')
        const { statusCode } = answer
        answer.destroy()
        return statusCode
      })
      .toBe(200)
    for (const answer of begun) answer.destroy()
    service.closeAllConnections()
    service.close()
  })
})

const bytes = Buffer.alloc(1_000, 1)

/** URL to which a person may upload `bytes`. */
async function uploadUrl(person: TestUser): Promise<string> {
  const repositoryId = await hub.repository(person, await hub.organization(person))
  const { assetId } = await person.invoke('repositories_CreateAsset', {
    repositoryId,
    size: bytes.length,
    digest: digestOf(bytes),
  })
  return (await person.invoke('repositories_IssueAssetUploadUrl', { assetId })).url
}

const path = (url: string): string => url.slice(new URL(url).origin.length)
/** Begins an upload whose bytes never come. */
const begin = (url: string): Raw => send('127.0.0.1', `PUT ${path(url)}`, 'Content-Length: 1000')

it('S27: files that clients of one address do not read count twice, for their descriptors; others are served', async () => {
  const person = await hub.user()
  const repositoryId = await hub.repository(person, await hub.organization(person))
  const large = Buffer.alloc(16 * 1024 * 1024, 1)
  const { assetId } = await person.invoke('repositories_CreateAsset', {
    repositoryId,
    size: large.length,
    digest: digestOf(large),
  })
  const { url: uploads } = await person.invoke('repositories_IssueAssetUploadUrl', { assetId })
  expect((await putBytes(`${hub.url}${path(uploads)}`, large)).status).toBe(200)
  const { url } = await person.invoke('repositories_IssueAssetDownloadUrl', { assetId })
  const heads: Raw[] = []
  for (let count = 0; count < 60; count++) {
    const one = send('127.0.0.12', `GET ${path(url)}`)
    // Only the head is read.
    one.socket.once('data', () => one.socket.pause())
    heads.push(one)
  }
  await expect.poll(() => countOf(heads, 200) + countOf(heads, 429)).toBe(60)
  expect(countOf(heads, 200)).toBeLessThanOrEqual(50)
  expect(countOf(heads, 200)).toBeGreaterThan(30)
  expect(heads.find(one => statusOf(one) === 429)!.text()).toMatch(
    /Limit address-connections: found \d+, expected at most 100 connections\./,
  )
  const other = send('127.0.0.13', `GET ${path(url)}`, 'Range: bytes=0-9', 'Connection: close')
  await expect.poll(() => statusOf(other)).toBe(206)
  destroyAll([...heads, other])
  await expect.poll(() => openOf(heads).length).toBe(0)
  const again = send('127.0.0.12', `GET ${path(url)}`, 'Range: bytes=0-9')
  await expect.poll(() => statusOf(again)).toBe(206)
  destroyAll([again])
})

it('S27: uploads of one person to two organizations leave room for others', async () => {
  const [greedy, other] = [await hub.user(), await hub.user()]
  const urls = [await uploadUrl(greedy), await uploadUrl(greedy)]
  const uploads = urls.flatMap(url => Array.from({ length: 20 }, () => begin(url)))
  await expect.poll(() => countOf(uploads, 429)).toBe(24)
  const refused = uploads.find(one => statusOf(one) === 429)!
  expect(refused.text()).toMatch(/Limit person-uploads: found 17, expected at most 16 uploads/)
  expect((await putBytes(`${hub.url}${path(await uploadUrl(other))}`, bytes)).status).toBe(200)
  // The person of a URL is signed.
  const forged = new URL(urls[0]!)
  forged.searchParams.set('user', other.userId)
  expect((await putBytes(`${hub.url}${path(forged.href)}`, bytes)).status).toBe(403)
  destroyAll(uploads)
  await expect.poll(async () => (await putBytes(`${hub.url}${path(urls[0]!)}`, bytes)).status).toBe(200)
})

it('S27: uploads of two people leave room for others', async () => {
  const people = [await hub.user(), await hub.user(), await hub.user()]
  const [first, second, third] = await Promise.all(people.map(uploadUrl))
  const uploads: Raw[] = []
  const beginAll = async (url: string, refused: number): Promise<void> => {
    const all = Array.from({ length: 20 }, () => begin(url))
    uploads.push(...all)
    await expect.poll(() => countOf(all, 429)).toBe(refused)
  }
  await beginAll(first!, 4)
  await beginAll(second!, 12)
  expect(uploads.find(one => statusOf(one) === 429 && one.text().includes('found 9'))!.text()).toMatch(
    /Limit person-uploads: found 9, expected at most 8 uploads\. Other people run uploads/,
  )
  expect((await putBytes(`${hub.url}${path(third!)}`, bytes)).status).toBe(200)
  destroyAll(uploads)
  // Alone again, the second person has the whole limit.
  await expect.poll(async () => (await putBytes(`${hub.url}${path(first!)}`, bytes)).status).toBe(200)
  uploads.length = 0
  await expect.poll(async () => (await putBytes(`${hub.url}${path(second!)}`, bytes)).status).toBe(200)
})

describe('S27: bodies of requests that have arrived in part', () => {
  it.each([
    ['with their length', ['Content-Length: 8000000'], ''],
    ['in chunks', ['Transfer-Encoding: chunked'], `7a1200\r\n${'x'.repeat(7_900_000)}`],
  ])('%s hold at most the memory for inputs of their person', async (_, headers, body) => {
    const [greedy, other] = [await hub.user(), await hub.user()]
    const sendPart = async (person: typeof greedy): Promise<Raw> => {
      const lines = ['Content-Type: application/json', `Authorization: Bearer ${await hub.userToken(person)}`]
      const raw = send('127.0.0.1', 'POST /api/v1/actions/invoke/actor_GetActor', ...lines, ...headers)
      raw.socket.write(body)
      return raw
    }
    const bodies = await Promise.all(Array.from({ length: 6 }, () => sendPart(greedy)))
    // Four have room. Bodies in chunks grow together, so more than two may meet the bound.
    await expect.poll(() => countOf(bodies, 429)).toBeGreaterThanOrEqual(2)
    const refused = bodies.filter(one => statusOf(one) === 429)
    for (const { text } of refused)
      expect(text()).toMatch(/Limit person-input-bytes: found \d+, expected at most 33554432 bytes/)
    const others = await sendPart(other)
    expect(await healthFrom('127.0.0.1')).toBe(200)
    expect(statusOf(others)).toBe(0)
    await expect
      .poll(() =>
        named('a limit was hit').filter(
          line => line.limit === 'person-input-bytes' && line.userId === greedy.userId,
        ),
      )
      .toHaveLength(1)

    for (const { socket } of [...bodies, others]) socket.destroy()
    await expect
      .poll(async () => {
        const again = await sendPart(greedy)
        await healthFrom('127.0.0.1')
        again.socket.destroy()
        return statusOf(again)
      })
      .toBe(0)
  })
})

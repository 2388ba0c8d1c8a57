import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import {
  connectPerson,
  type DevicePage,
  devicePage,
  forwardEnd,
  hashOfStream,
  heldDuring,
  largeBody,
  type TestHub,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type NodeRelay, relayTo } from './testing/relay.ts'

const KEY = 'ab'.repeat(32)
/** Size of a body, in bytes. */
const LARGE_BYTES = 100 * 1024 * 1024
/** Limit of additional memory during a transfer, in bytes. Both hubs, the device and the client run in this process. */
const MAX_HELD_BYTES = 64 * 1024 * 1024

/** The node to which the device is connected, and the node that people use. */
let holder: TestHub
let entry: TestHub
/** TCP proxy for the link from the node `entry` to the node `holder`. */
let relay: NodeRelay
let page: DevicePage
const app = createServer({ keepAliveTimeout: 0 }, (request, response) => void application(request, response))

beforeAll(async () => {
  holder = await testHub({ instanceKey: KEY, nodePort: 0, nodeUrl: 'https://127.0.0.1' })
  entry = await testHub({ instanceKey: KEY, databaseUrl: holder.pool.options.connectionString })
  const rows = () => holder.db.updateTable('cluster_node').where('node_id', '=', holder.nodeId)
  const { link_url: url } = await holder.db
    .selectFrom('cluster_node')
    .where('node_id', '=', holder.nodeId)
    .select('link_url')
    .executeTakeFirstOrThrow()
  relay = await relayTo(Number(new URL(url!).port))
  await rows()
    .set({ link_url: `https://127.0.0.1:${relay.port}` })
    .execute()
  await once(app.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(holder, app)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
  await entry[Symbol.asyncDispose]()
  await holder[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
})

async function application(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/digest') return void response.end(await hashOfStream(request))
  response.writeHead(200, { 'content-length': LARGE_BYTES })
  await pipeline(largeBody(LARGE_BYTES), response).catch(() => {})
}

it('a device of another node sends and gets 100 MiB with equal bytes and little memory', async () => {
  const { port } = entry.address
  const expected = await hashOfStream(largeBody(LARGE_BYTES))
  const { result, heldBytes } = await heldDuring(async () => {
    const down = await hashOfStream(await page.ask('/', { port }))
    const answer = await page.ask(
      '/digest',
      { port, method: 'POST' },
      outgoing => void pipeline(largeBody(LARGE_BYTES), outgoing),
    )
    return [down, Buffer.concat(await answer.toArray()).toString()]
  })
  expect(result).toEqual([expected, expected])
  expect(heldBytes).toBeLessThan(MAX_HELD_BYTES)
}, 300_000)

it('a forward over a node that freezes ends with an error within 10 s, whether it is idle or busy', async () => {
  await using cli = await connectPerson(entry.url, await holder.userToken(page.owner))
  const { port } = app.address() as { port: number }
  const endpoint = `device/${page.device.deviceId}/proxy/forward/tcp/${port}`
  const [idle, busy] = await Promise.all([cli.open(endpoint), cli.open(endpoint)])
  const idleEnd = forwardEnd(idle!)
  relay.freeze()
  const frozenAtMs = performance.now()
  const writing = (async () => {
    for (;;) await busy!.write(Buffer.alloc(60_000))
  })()
  await expect(writing).rejects.toThrow('the peer reads no more')
  expect(await idleEnd).toBe('error')
  expect(performance.now() - frozenAtMs).toBeLessThan(10_000)
}, 30_000)

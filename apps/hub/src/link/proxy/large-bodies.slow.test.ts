import { once } from 'node:events'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import {
  type DevicePage,
  devicePage,
  hashOfStream,
  heldDuring,
  largeBody,
  type TestHub,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Size of the large body, in bytes. `npm run bench -- tunnel` transfers a gigabyte, with the hub in its own process. */
const LARGE_BYTES = 256 * 1024 * 1024
/** Limit of additional memory during a transfer, in bytes. Hub, device and browser share this process. */
const MAX_HELD_BYTES = 64 * 1024 * 1024

let hub: TestHub
let page: DevicePage
const app = createServer((request, response) => {
  if (request.method === 'POST') return void hashOfStream(request).then(hash => response.end(hash))
  response.writeHead(200, { 'content-length': LARGE_BYTES })
  void pipeline(largeBody(LARGE_BYTES), response)
})

beforeAll(async () => {
  hub = await testHub()
  await once(app.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(hub, app)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
})

describe('a large body', () => {
  it('is downloaded unchanged and without buffering it whole', async () => {
    const { result, heldBytes } = await heldDuring(async () => hashOfStream(await page.ask('/large')))
    expect(result).toBe(await hashOfStream(largeBody(LARGE_BYTES)))
    expect(heldBytes).toBeLessThan(MAX_HELD_BYTES)
  }, 120_000)

  it('is uploaded unchanged and without buffering it whole', async () => {
    const options = { method: 'POST', headers: { 'content-length': LARGE_BYTES } }
    const { result, heldBytes } = await heldDuring(async () => {
      const answer = await page.ask(
        '/hash',
        options,
        outgoing => void pipeline(largeBody(LARGE_BYTES), outgoing),
      )
      return Buffer.concat(await answer.toArray()).toString()
    })
    expect(result).toBe(await hashOfStream(largeBody(LARGE_BYTES)))
    expect(heldBytes).toBeLessThan(MAX_HELD_BYTES)
  }, 120_000)
})

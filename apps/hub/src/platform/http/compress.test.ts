import { type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let ada: TestUser
let organizationId: string
let token: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user()
  organizationId = await hub.organization(ada)
  token = await hub.userToken(ada)
  for (let at = 0; at < 30; at++) await hub.project(ada, organizationId, `Harbour ${at}`)
})
afterAll(() => hub[Symbol.asyncDispose]())

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** Returns the response with its raw body. It does not use `fetch`, which would decompress the body. */
function raw(action: string, input: object, encodings?: string): Promise<Answer> {
  return new Promise((done, failed) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(encodings !== undefined && { 'accept-encoding': encodings }),
    }
    const path = `/api/v1/actions/invoke/${action}`
    const outgoing = request(
      { port: hub.address.port, host: '127.0.0.1', path, method: 'POST', headers },
      answer =>
        void buffer(answer).then(
          body => done({ status: answer.statusCode!, headers: answer.headers, body }),
          failed,
        ),
    )
    outgoing.on('error', failed)
    outgoing.end(JSON.stringify(input))
  })
}

describe('C15: the answer of an action', () => {
  it.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, GZIP;q=0.5', 'gzip', gunzipSync],
  ] as const)(
    'of more than 1 KiB is compressed for `Accept-Encoding: %s` as %s',
    async (accepted, encoding, unpack) => {
      const plain = await raw('organizations_QueryProjects', { organizationId })
      const { status, headers, body } = await raw('organizations_QueryProjects', { organizationId }, accepted)
      expect(status).toBe(200)
      expect(headers).toMatchObject({
        'content-encoding': encoding,
        'content-length': String(body.length),
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        vary: 'accept-encoding',
      })
      expect(unpack(body).toString()).toBe(plain.body.toString())
      expect(body.length).toBeLessThan(plain.body.length / 2)
    },
  )

  it.each([undefined, '', 'identity', 'deflate', '*', 'br;q=0', 'gzip;q=0.000', 'brotli'])(
    'is not compressed for `Accept-Encoding` %j',
    async accepted => {
      const { headers, body } = await raw('organizations_QueryProjects', { organizationId }, accepted)
      expect(headers['content-encoding']).toBeUndefined()
      expect(body.toString()).toContain('Harbour 29')
    },
  )

  it('is not compressed if it is short, an error, or from an action that returns a secret', async () => {
    const { projects } = await ada.invoke('organizations_QueryProjects', { organizationId })
    const deviceId = await deviceRow(hub, projects[0]!.projectId)
    for (const { headers, body } of [
      await raw('actor_GetActor', {}, 'br'),
      await raw('projects_GetDetails', { projectId: 'x'.repeat(5_000) }, 'br'),
      await raw('devices_IssueDeviceToken', { deviceId, claims: 'x'.repeat(5_000) }, 'br'),
    ]) {
      expect(headers['content-encoding']).toBeUndefined()
      expect(() => JSON.parse(body.toString())).not.toThrow()
    }
  })

  it('is decompressed by our client', async () => {
    const { projects } = await ada.invoke('organizations_QueryProjects', { organizationId })
    expect(projects).toHaveLength(30)
  })
})

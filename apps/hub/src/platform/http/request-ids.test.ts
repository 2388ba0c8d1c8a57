import { type Answer, ask, capturedLog, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const SECRET = 'at least sixteen characters'
const RANDOM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

let hub: TestHub
const captured = capturedLog('debug')
beforeAll(async () => {
  hub = await testHub({ trustedProxies: ['127.0.0.1'], proxySecret: SECRET }, captured.log)
})
afterAll(() => hub[Symbol.asyncDispose]())

function asked(headers: Record<string, string>, path = '/healthz'): Promise<Answer> {
  return ask(hub, path, { headers })
}

/** The line in the log about a request. */
function lineOf(id: string) {
  return captured.named('request').find(({ requestId }) => requestId === id)
}

describe('O8: the id of a request', () => {
  it.each([
    [{ 'x-request-id': 'edge:9f2c.1/a=b+c@d_e' }, 'edge:9f2c.1/a=b+c@d_e'],
    [{ traceparent: `00-${TRACE}-${SPAN}-01` }, `${TRACE}-${SPAN}`],
    [{ 'x-request-id': 'of-the-proxy', traceparent: `00-${TRACE}-${SPAN}-00` }, 'of-the-proxy'],
    [{ 'x-request-id': 'short', traceparent: `00-${TRACE}-${SPAN}-00` }, `${TRACE}-${SPAN}`],
  ])('is taken from a trusted proxy: %j', async (headers, id) => {
    const answer = await asked({ ...headers, 'x-muster-proxy-secret': SECRET } as Record<string, string>)
    expect(answer.headers.get('x-request-id')).toBe(id)
  })

  it.each([
    { 'x-request-id': '' },
    { 'x-request-id': 'with a blank' },
    { 'x-request-id': 'x'.repeat(129) },
    { 'x-request-id': '<script>alert(1)</script>' },
    { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` },
    { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
    { traceparent: `00-${TRACE.toUpperCase()}-${SPAN}-01` },
    { traceparent: 'nonsense' },
  ])('is generated if the proxy sends an invalid one: %j', async headers => {
    const answer = await asked({ ...headers, 'x-muster-proxy-secret': SECRET } as Record<string, string>)
    expect(answer.headers.get('x-request-id')).toMatch(RANDOM)
  })

  it.each([
    { 'x-request-id': 'of-a-stranger' },
    { 'x-request-id': 'of-a-stranger', 'x-muster-proxy-secret': 'wrong' },
    { traceparent: `00-${TRACE}-${SPAN}-01` },
  ])('is not taken from a client without the proxy secret: %j', async headers => {
    const answer = await asked(headers as Record<string, string>)
    expect(answer.headers.get('x-request-id')).toMatch(RANDOM)
  })

  it('from a proxy is written to the log and the audit log', async () => {
    const ada = await hub.user()
    const id = `edge-${crypto.randomUUID()}`
    const headers = { 'x-request-id': id, 'x-muster-proxy-secret': SECRET }
    const path = '/api/v1/actions/invoke/organizations_Create'
    const { status } = await ask(hub, path, { as: ada, body: { name: 'Harbour' }, headers })
    expect(status).toBe(200)
    expect(
      (await hub.db.selectFrom('audit_action').select('request_id').execute()).map(row => row.request_id),
    ).toContain(id)
    await until('the request is logged', () => lineOf(id))
  })

  it('comes with the trace of a trusted proxy in the log, and without that of others', async () => {
    const traceparent = `00-${TRACE}-${SPAN}-01`
    const ids = [crypto.randomUUID(), crypto.randomUUID()]
    await asked({ 'x-request-id': ids[0]!, traceparent, 'x-muster-proxy-secret': SECRET })
    const { headers } = await asked({ 'x-request-id': ids[1]!, traceparent })
    expect(await until('it is logged', () => lineOf(ids[0]!))).toMatchObject({ traceId: TRACE })
    const other = await until('it is logged', () => lineOf(headers.get('x-request-id')!))
    expect(other).not.toHaveProperty('traceId')
  })
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { newDatedId } from '@muster/actions'
import { capturedLog, connectDevice, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const OTHER_TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = '00f067aa0ba902b7'
const PROXY_SECRET = 'a secret of the proxy'

/** Span as OTLP has it in JSON. */
type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  status: { code: number }
}
type Export = {
  resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[]
}

/** Starts an OTLP/HTTP receiver that keeps all spans. */
async function receiver(status = 200) {
  const exports: Export[] = []
  const tokens = new Set<unknown>()
  const server = createServer((request, response) => {
    json(request).then(body => {
      exports.push(body as Export)
      tokens.add(request.headers['x-token'])
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    }, response.destroy)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    exports,
    tokens,
    spans: () =>
      exports.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const attributeOf = ({ attributes }: Span, key: string): string | number | undefined => {
  const { stringValue, intValue } = attributes.find(one => one.key === key)?.value ?? {}
  return stringValue ?? intValue
}

let collector: Awaited<ReturnType<typeof receiver>>
let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>

beforeAll(async () => {
  collector = await receiver()
  hub = await testHub({
    tracesUrl: collector.url,
    tracesHeaders: { 'x-token': 'of the collector' },
    tracesPercent: 100,
    trustedProxies: ['127.0.0.1'],
    proxySecret: PROXY_SECRET,
  })
  fleet = await hub.fleet()
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
})

/** Reads the project over HTTP, as a proxy forwards it. */
async function readProject(headers: Record<string, string>, projectId = fleet.projectId): Promise<number> {
  const answer = await fetch(`${hub.url}/api/v1/actions/invoke/projects_GetDetails`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: fleet.owner.cookie, origin: hub.url, ...headers },
    body: JSON.stringify({ projectId }),
  })
  return answer.status
}

const proxied = (traceparent: string) => ({ traceparent, 'x-muster-proxy-secret': PROXY_SECRET })

it('records request, action and statements in the trace of a trusted proxy, by names without values', async () => {
  await readProject(proxied(`00-${TRACE}-${CALLER}-01`))
  const isOf = ({ traceId }: Span): boolean => traceId === TRACE
  const request = await until('the request is exported', () =>
    collector.spans().find(span => isOf(span) && span.parentSpanId === CALLER),
  )
  expect(request.name).toBe('POST /api/v1/actions/invoke/:name')
  expect(attributeOf(request, 'http.response.status_code')).toBe(200)
  const spans = collector.spans().filter(isOf)
  const action = spans.find(({ name }) => name === 'projects_GetDetails')!
  expect([action.parentSpanId, attributeOf(action, 'muster.actor')]).toEqual([request.spanId, 'User'])
  const statements = spans.filter(span => attributeOf(span, 'db.system.name') === 'postgresql')
  expect(statements.length).toBeGreaterThan(1)
  for (const { name, parentSpanId } of statements) {
    expect(name).toMatch(/^(select|with)( [a-z_]+)?$/)
    expect([request.spanId, action.spanId]).toContain(parentSpanId)
  }
  expect(statements.map(span => attributeOf(span, 'db.query.text')).join()).toContain('$1')
  expect(JSON.stringify(spans)).not.toContain(fleet.projectId)
  const [{ resource }] = collector.exports[0]!.resourceSpans as [Export['resourceSpans'][0]]
  expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'muster' } })
  expect([...collector.tokens]).toEqual(['of the collector'])
})

it('records no trace that the proxy does not record, and believes no trace of other clients', async () => {
  await readProject(proxied(`00-${OTHER_TRACE}-${CALLER}-00`))
  await readProject({ traceparent: `00-${OTHER_TRACE}-${CALLER}-01` })
  const statusOfForeign = await readProject({}, 'p_1111111111111111111111')
  const refused = await until('a later request is exported', () =>
    collector.spans().find(({ name, status }) => name === 'projects_GetDetails' && status.code === 2),
  )
  expect([statusOfForeign, attributeOf(refused, 'error.type')]).toEqual([403, 'Forbidden'])
  expect(collector.spans().filter(({ traceId }) => traceId === OTHER_TRACE)).toEqual([])
})

it('records an action of a device as a trace of its own, and unknown names of actions as one name', async () => {
  await using device = await connectDevice({ url: hub.url, token: fleet.token })
  const { deviceId } = device
  const emittedAt = new Date().toISOString()
  const event = { eventId: newDatedId('d_ev'), severity: 'Info', category: 'test', body: 'b', emittedAt }
  await device.invoke('devices_PublishEvents', { deviceId, events: [{ ...event, attributes: {} }] })
  await fetch(`${hub.url}/api/v1/actions/invoke/no_SuchAction`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  await until('both are exported', () => {
    const names = collector.spans().map(({ name }) => name)
    return names.includes('devices_PublishEvents') && names.includes('unknown action')
  })
  const published = collector.spans().find(({ name }) => name === 'devices_PublishEvents')!
  expect(published.parentSpanId).toBeUndefined()
  expect(attributeOf(published, 'muster.actor')).toBe('Device')
  expect(JSON.stringify(collector.spans())).not.toMatch(/no_SuchAction|d_ev_/)
})

it('works when its collector refuses the traces, and logs that once', async () => {
  const { log, named } = capturedLog('info')
  await using refusing = await receiver(400)
  await using other = await testHub({ tracesUrl: refusing.url, tracesPercent: 100 }, log)
  await until('two exports are refused', async () => {
    expect((await fetch(`${other.url}/readyz`)).status).toBe(200)
    return refusing.exports.length > 1
  })
  expect(named('traces cannot be sent to MUSTER_TRACES_URL and are dropped')).toHaveLength(1)
})

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ActionInput, actions, MASKED_HEADER, newDatedId } from '@muster/actions'
import {
  auditEvents,
  connectDevice,
  databaseSession,
  failed,
  secondNode,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'
import { logsUrl, rejectedCount, resourceLogs } from './otlp.ts'
import { whileSessionsEnd } from './testing/ended-sessions.ts'
import { type ReceivedRecord, recordsOf } from './testing/otlp.ts'
import { type Receiver, receiver } from './testing/receiver.ts'
import { holdAfterRestore, removeOldDeliveries } from './upkeep.ts'

let hub: TestHub

beforeAll(async () => {
  const limits = { ...loadConfig({}).limits, 'project-export-waiting-events': 1_000 }
  hub = await testHub({ otlpAllow: ['127.0.0.0/8'], limits })
})
afterAll(() => hub[Symbol.asyncDispose]())

type Config = ActionInput<'projects_SetOtlpConfig'>['config']
type Device = Awaited<ReturnType<typeof connectDevice>>
type Exported = AsyncDisposable & {
  owner: TestUser
  organizationId: string
  projectId: string
  webhookId: string
  device: Device
}

/** A project with a connected device, whose events are exported to a receiver. */
async function exportTo({ url }: Pick<Receiver, 'url'>, headers: Config['headers'] = {}): Promise<Exported> {
  const { owner, organizationId, projectId, token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token })
  await owner.invoke('projects_SetOtlpConfig', {
    projectId,
    config: { enabled: true, endpoint: url, headers },
  })
  await until('the node knows it', () => hub.services.ingest.exportsEventsOf(projectId))
  const { webhooks } = await owner.invoke('webhooks_Query', { organizationId })
  return {
    owner,
    organizationId,
    projectId,
    webhookId: webhooks[0]!.webhookId,
    device,
    [Symbol.asyncDispose]: () => device[Symbol.asyncDispose](),
  }
}

type Event = ActionInput<'devices_PublishEvents'>['events'][number]
function newEvent(more: Partial<Event> = {}): Event {
  const emittedAt = new Date().toISOString()
  return { eventId: newDatedId('d_ev'), severity: 'Info', body: 'hello', attributes: {}, emittedAt, ...more }
}

/** Publishes events of a device, and puts them into messages. Resolves to their ids. */
async function publish({ deviceId, invoke }: Device, events: Event[]): Promise<string[]> {
  await invoke('devices_PublishEvents', { deviceId, events })
  hub.services.exporter.wake()
  return events.map(({ eventId }) => eventId)
}

const manyEvents = (count: number) => Array.from({ length: count }, () => newEvent())
const detailsOf = ({ owner, webhookId }: Exported) => owner.invoke('webhooks_GetDetails', { webhookId })
const records = ({ requests }: Receiver): ReceivedRecord[] => requests.flatMap(recordsOf)
const eventIds = (found: readonly ReceivedRecord[]) =>
  found.map(({ attributes }) => attributes['muster.event.id'])
const isDone = (exported: Exported, count: number) => async () => {
  const { waitingCount, attemptCount } = await detailsOf(exported)
  return waitingCount === count && attemptCount > 0
}

/** Makes waiting messages due, as if their pause had passed. */
async function passPause(webhookId: string): Promise<void> {
  await hub.pool.query(
    "update webhook_delivery set due_at = now() where webhook_id = $1 and state = 'Waiting'",
    [webhookId],
  )
  await hub.pool.query('update webhook_queue set due_at = now() where webhook_id = $1', [webhookId])
  hub.services.deliverer.wake()
}

describe('an export of events', () => {
  it('sends each event of the devices of its project as a log record, with headers, in batches', async () => {
    await using target = await receiver()
    target.answer = (_, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}')
    await using exported = await exportTo(target, { Authorization: 'Bearer abc', 'x-scope': 'a b' })
    const { owner, organizationId, projectId, device } = exported
    await owner.invoke('devices_SetName', { deviceId: device.deviceId, name: 'crane-01' })
    const emittedAt = new Date(Date.now() - 60_000).toISOString()
    const events = [
      newEvent({
        severity: 'Critical',
        category: 'crane.load',
        body: { text: 'too heavy', tons: 41.5, at: [1, null, true], id: '12' },
        attributes: { site: 'Pier 4', count: 9_007_199_254_740_991, 'muster.event.id': 'forged' },
        emittedAt,
      }),
      ...manyEvents(40),
    ]
    const ids = await publish(device, events)
    await until('they arrive', () => records(target).length >= 41)
    expect(target.requests).toHaveLength(1)
    expect(target.requests[0]).toMatchObject({
      method: 'POST',
      path: '/hook/v1/logs',
      headers: { authorization: 'Bearer abc', 'x-scope': 'a b', 'content-type': 'application/json' },
    })
    expect(eventIds(records(target)).toSorted()).toEqual(ids.toSorted())
    const found = records(target).find(({ attributes }) => attributes['muster.event.id'] === ids[0])
    expect(found).toEqual({
      timeUnixNano: `${Date.parse(emittedAt)}000000`,
      observedTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      severityNumber: 21,
      severityText: 'Critical',
      body: {
        kvlistValue: {
          values: [
            { key: 'text', value: { stringValue: 'too heavy' } },
            { key: 'tons', value: { doubleValue: 41.5 } },
            {
              key: 'at',
              value: { arrayValue: { values: [{ intValue: '1' }, {}, { boolValue: true }] } },
            },
            { key: 'id', value: { stringValue: '12' } },
          ],
        },
      },
      attributes: {
        site: 'Pier 4',
        count: { intValue: '9007199254740991' },
        'muster.event.id': ids[0],
        'muster.event.category': 'crane.load',
      },
      resource: expect.objectContaining({
        'service.name': 'Test project',
        'service.instance.id': device.deviceId,
        'muster.organization.id': organizationId,
        'muster.project.id': projectId,
        'muster.device.id': device.deviceId,
        'muster.device.name': 'crane-01',
      }),
    })
    await until('it is stored', isDone(exported, 0))
    expect(await detailsOf(exported)).toMatchObject({ format: 'otlp', droppedCount: 0, successCount: 1 })
    const { rows } = await hub.pool.query('select from event_export where project_id = $1', [projectId])
    expect(rows).toHaveLength(0)
    // The log of the organization is not for a collector.
    await owner.invoke('projects_SetName', { projectId, name: 'Harbor' })
    await sleep(1_500)
    expect(target.requests).toHaveLength(1)
  })

  it('has each event once, also repeated, odd ones, and those of a person and of another node', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const { owner, device, projectId } = exported
    const [one, two, byPerson, late, ahead] = [
      newEvent(),
      newEvent(),
      newEvent(),
      newEvent({ eventId: newDatedId('d_ev', new Date(Date.now() - 5 * 86_400_000)) }),
      newEvent({ emittedAt: '2099-01-01T00:00:00Z' }),
    ]
    for (const events of [[one!], [one!, two!], [late!], [late!, ahead!], [ahead!]])
      await publish(device, events)
    await owner.invoke('devices_PublishEvents', { deviceId: device.deviceId, events: [byPerson!] })
    await using node = await secondNode(hub, { otlpAllow: ['127.0.0.0/8'] })
    expect(node.services.ingest.exportsEventsOf(projectId)).toBe(true)
    const elsewhere = newEvent()
    const caller = { actor: 'System' } as const
    await node.pipeline.run(caller, 'devices_PublishEvents', {
      deviceId: device.deviceId,
      events: [elsewhere],
    })
    hub.services.exporter.wake()
    const all = [one, two, byPerson, late, ahead, elsewhere].map(event => event!.eventId).toSorted()
    await until('they arrive', () => records(target).length >= all.length)
    await sleep(500)
    expect(eventIds(records(target)).toSorted()).toEqual(all)
  })

  it('loses nothing while the collector is away, and sends it once when it is back', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    target.answer = (_, response) => void response.writeHead(503, { 'retry-after': '120' }).end()
    const ids: string[] = []
    for (let round = 0; round < 4; round++) {
      ids.push(...(await publish(exported.device, manyEvents(150))))
      await until('they wait', async () => (await detailsOf(exported)).waitingCount === ids.length)
    }
    // The pause is that which the collector asked for.
    await until('its turns end', async () => {
      const { nextAttemptAt } = await detailsOf(exported)
      return nextAttemptAt !== undefined && Date.parse(nextAttemptAt) - Date.now() > 60_000
    })
    const before = target.requests.length
    target.answer = (_, response) => void response.end('{}')
    await passPause(exported.webhookId)
    await until('all arrive', isDone(exported, 0))
    const sent = target.requests.slice(before).flatMap(recordsOf)
    expect(eventIds(sent).toSorted()).toEqual(ids.toSorted())
    expect(await detailsOf(exported)).toMatchObject({ state: 'Delivering', droppedCount: 0 })
  })

  it('counts what it drops beyond the limit of waiting events', async () => {
    await using target = await receiver()
    target.answer = (_, response) => void response.writeHead(503).end()
    await using exported = await exportTo(target)
    for (let round = 0; round < 6; round++) {
      await publish(exported.device, manyEvents(200))
      await until('they are counted', async () => {
        const { waitingCount, droppedCount } = await detailsOf(exported)
        return waitingCount + droppedCount === (round + 1) * 200
      })
    }
    expect(await detailsOf(exported)).toMatchObject({ waitingCount: 1_000, droppedCount: 200 })
    const { projectId, webhookId } = exported
    const dropped = await until('it is said', async () => {
      const events = await auditEvents(hub, 'projects_ExportedEventsDropped')
      return events.find(one => one.projectId === projectId)
    })
    expect(dropped.data).toEqual({ projectId, webhookId, droppedCount: 200 })
  })

  it('does not send a batch again that is bad, counts what was rejected, and sends it when a person asks', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const { owner, webhookId } = exported
    target.answer = (_, response) => void response.writeHead(400).end('{"message":"bad"}')
    const ids = await publish(exported.device, manyEvents(3))
    await until('it is given up', isDone(exported, 0))
    await sleep(1_000)
    expect(target.requests).toHaveLength(1)
    expect(await detailsOf(exported)).toMatchObject({ droppedCount: 3, waitingCount: 0 })
    expect(await owner.invoke('webhooks_QueryAttempts', { webhookId })).toMatchObject({
      attempts: [{ status: 400, answer: '{"message":"bad"}', type: 'otlp.Logs' }],
    })
    target.answer = (_, response) => void response.end('{"partialSuccess":{"rejectedLogRecords":"2"}}')
    expect(await owner.invoke('webhooks_ResendFailed', { webhookId, since: '2026-01-01T00:00:00Z' })).toEqual(
      { messageCount: 1 },
    )
    await until('it arrives', () => target.requests.length === 2)
    expect(eventIds(recordsOf(target.requests[1]!)).toSorted()).toEqual(ids.toSorted())
    await until('it is stored', async () => (await detailsOf(exported)).droppedCount === 2)
    // The keys of delivered events are gone.
    const [attempt] = (await owner.invoke('webhooks_QueryAttempts', { webhookId })).attempts
    expect(
      await failed(owner.invoke('webhooks_ResendMessage', { webhookId, messageId: attempt!.messageId })),
    ).toMatchObject({ status: 409 })
  })

  it('asks a collector that refuses everything only now and then', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    target.answer = (_, response) => void response.writeHead(400).end()
    for (let round = 1; round <= 12; round++) {
      await publish(exported.device, [newEvent()])
      await until('it is a message', async () => {
        const { rows } = await hub.pool.query('select from webhook_delivery where webhook_id = $1', [
          exported.webhookId,
        ])
        return rows.length === round
      })
    }
    await until('it fails', async () => (await detailsOf(exported)).state === 'Failing')
    const before = target.requests.length
    await sleep(2_000)
    expect(target.requests.length - before).toBeLessThanOrEqual(1)
    expect(before).toBeLessThanOrEqual(9)
    expect((await detailsOf(exported)).waitingCount).toBeGreaterThanOrEqual(3)
  })

  it('fails at a redirect and at a collector that sends a byte a minute, and is not followed elsewhere', async () => {
    await using target = await receiver()
    await using other = await receiver()
    await using exported = await exportTo(target)
    target.answer = (_, response) => void response.writeHead(307, { location: other.url }).end()
    await publish(exported.device, [newEvent()])
    await until('it fails', async () => (await detailsOf(exported)).state === 'Failing')
    expect(other.requests).toHaveLength(0)
    target.answer = (_, response) => void response.writeHead(200).write('{')
    await until('its turn ends', async () => (await detailsOf(exported)).nextAttemptAt !== undefined)
    await passPause(exported.webhookId)
    await until('the head counts', isDone(exported, 0))
    expect(await detailsOf(exported)).toMatchObject({ state: 'Delivering' })
  })

  it('counts events that were deleted before they were sent', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const { owner, device, webhookId } = exported
    target.answer = (_, response) => void response.writeHead(503).end()
    await publish(device, manyEvents(5))
    await until('it fails', async () => (await detailsOf(exported)).state === 'Failing')
    await until('its turn ends', async () => (await detailsOf(exported)).nextAttemptAt !== undefined)
    await owner.invoke('devices_Delete', { deviceId: device.deviceId })
    const before = target.requests.length
    await passPause(webhookId)
    await until('they are counted', async () => (await detailsOf(exported)).droppedCount === 5)
    expect(target.requests).toHaveLength(before)
    expect(await detailsOf(exported)).toMatchObject({ waitingCount: 0 })
  })

  it('is held by a restore, and turned off by 410', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const { owner, device, webhookId } = exported
    await using session = await databaseSession(hub)
    const client = { query: async (text: string) => ({ rows: await session.query(text) }) }
    expect(await holdAfterRestore(client as never)).toContain(webhookId)
    const [id] = await publish(device, [newEvent()])
    await until('it waits', async () => (await detailsOf(exported)).waitingCount === 1)
    const config = { enabled: true, endpoint: target.url, headers: {} }
    await owner.invoke('projects_SetOtlpConfig', { projectId: exported.projectId, config })
    await sleep(1_500)
    expect(target.requests).toHaveLength(0)
    expect(await detailsOf(exported)).toMatchObject({ state: 'Held' })
    await owner.invoke('webhooks_StartDelivery', { webhookId, waiting: 'Send' })
    await until('it arrives', () => target.requests.length === 1)
    expect(eventIds(records(target))).toEqual([id])
    target.answer = (_, response) => void response.writeHead(410).end()
    await publish(device, [newEvent()])
    await until('it is off', async () => (await detailsOf(exported)).state === 'Off')
    expect(
      (await owner.invoke('projects_GetOtlpConfig', { projectId: exported.projectId })).config.enabled,
    ).toBe(false)
    // The node keeps the keys of no further events.
    await until('the node knows it', async () => {
      hub.services.exporter.wake()
      return !hub.services.ingest.exportsEventsOf(exported.projectId)
    })
  })

  it('loses nothing while its sessions are ended', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const wake = () => {
      hub.services.exporter.wake()
      hub.services.deliverer.wake()
    }
    const ids: string[] = []
    await whileSessionsEnd(hub, { statements: '(webhook_|event_export)', wake, pauseMs: 50 }, async () => {
      for (let batch = 0; batch < 10; batch++) {
        ids.push(...(await publish(exported.device, manyEvents(20))))
        await sleep(50)
      }
    })
    await hub.pool.query(
      "update webhook_queue set claimed_until = now() - interval '1 s' where webhook_id = $1 and claimed_until is not null",
      [exported.webhookId],
    )
    hub.services.exporter.wake()
    await until('all arrive', () => new Set(eventIds(records(target))).size === ids.length)
    await until('none waits', async () => {
      await passPause(exported.webhookId)
      return (await detailsOf(exported)).waitingCount === 0
    })
    expect(new Set(eventIds(records(target)))).toEqual(new Set(ids))
  })

  it('keeps its log of delivered batches for a day, and no keys that nothing needs', async () => {
    await using target = await receiver()
    await using exported = await exportTo(target)
    const { owner, projectId, webhookId, device } = exported
    await publish(device, [newEvent()])
    await until('it arrives', isDone(exported, 0))
    const old = "now() - interval '25 hours'"
    await hub.pool.query(`update webhook_delivery set created_at = ${old} where webhook_id = $1`, [webhookId])
    await hub.pool.query(`update webhook_attempt set attempted_at = ${old} where webhook_id = $1`, [
      webhookId,
    ])
    await device.invoke('devices_PublishEvents', { deviceId: device.deviceId, events: [newEvent()] })
    await owner.invoke('projects_SetOtlpConfig', { projectId, config: { enabled: false, headers: {} } })
    await removeOldDeliveries({ db: hub.db } as never, { signal: new AbortController().signal } as never)
    for (const [table, column, id] of [
      ['webhook_delivery', 'webhook_id', webhookId],
      ['webhook_attempt', 'webhook_id', webhookId],
      ['event_export', 'project_id', projectId],
    ]) {
      const { rows } = await hub.pool.query(`select from ${table} where ${column} = $1`, [id])
      expect(rows, table).toHaveLength(0)
    }
  })
})

describe('the settings of an export', () => {
  it('show no value of a header, keep masked values for the same host, and are audited without values', async () => {
    await using target = await receiver()
    await using other = await receiver()
    const { owner, projectId, organizationId } = await hub.fleet()
    const get = async () => (await owner.invoke('projects_GetOtlpConfig', { projectId })).config
    const set = (config: Config) => owner.invoke('projects_SetOtlpConfig', { projectId, config })
    expect(await get()).toEqual({ enabled: false, headers: {} })
    await set({ enabled: true, endpoint: target.url, headers: { 'X-Key': 'very secret' } })
    expect(await get()).toEqual({ enabled: true, endpoint: target.url, headers: { 'X-Key': MASKED_HEADER } })
    const headers = { 'x-key': MASKED_HEADER, 'x-more': 'b' }
    await set({ enabled: false, endpoint: `${target.url}/v1/logs`, headers })
    expect(await get()).toEqual({
      enabled: false,
      endpoint: `${target.url}/v1/logs`,
      headers: { 'x-key': MASKED_HEADER, 'x-more': MASKED_HEADER },
    })
    const [webhook] = (await owner.invoke('webhooks_Query', { organizationId })).webhooks
    const { webhookId } = webhook!
    expect(webhook).toMatchObject({ format: 'otlp', projectId, state: 'Off', name: 'OTLP of Test project' })
    await owner.invoke('webhooks_Test', { webhookId })
    expect(target.requests[0]!.headers).toMatchObject({ 'x-key': 'very secret', 'x-more': 'b' })
    expect(recordsOf(target.requests[0]!)).toMatchObject([
      { body: { stringValue: expect.stringContaining('Test') } },
    ])
    expect(await failed(set({ enabled: true, endpoint: other.url, headers }))).toMatchObject({
      status: 409,
      issues: [{ path: 'config.headers.x-key' }],
    })
    expect(
      await failed(set({ enabled: true, endpoint: target.url, headers: { 'x-new': MASKED_HEADER } })),
    ).toMatchObject({ issues: [{ path: 'config.headers.x-new' }] })
    const { rows } = await hub.pool.query(
      `select (select string_agg(w::text, '') from webhook w) || (select string_agg(a::text, '') from audit_event a) as all`,
    )
    expect(rows[0].all).not.toContain('very secret')
    const events = (await auditEvents(hub, 'projects_OtlpConfigChanged')).filter(
      one => one.projectId === projectId,
    )
    expect(events.map(({ data }) => data)).toEqual([
      { projectId, enabled: true, endpoint: target.url, headerNames: ['X-Key'] },
      { projectId, enabled: false, endpoint: `${target.url}/v1/logs`, headerNames: ['x-key', 'x-more'] },
    ])
    await owner.invoke('webhooks_Set', { webhookId, name: 'Logs', isOn: true })
    expect((await get()).enabled).toBe(true)
    const change = { webhookId, name: 'Logs', isOn: true }
    for (const more of [{ url: other.url }, { credential: 'x' }, { types: ['projects.*'] }])
      expect(await failed(owner.invoke('webhooks_Set', { ...change, ...more }))).toMatchObject({
        issues: [{ path: Object.keys(more)[0] }],
      })
    await set({ enabled: false, headers: {} })
    expect(await get()).toEqual({ enabled: false, headers: {} })
    expect((await owner.invoke('webhooks_Query', { organizationId })).webhooks).toEqual([])
  })

  it('are refused with the field', async () => {
    const { owner, projectId } = await hub.fleet()
    const refused = (config: object) =>
      failed(
        owner.invoke('projects_SetOtlpConfig', {
          projectId,
          config: { enabled: true, endpoint: 'http://127.0.0.1:9', headers: {}, ...config } as Config,
        }),
      )
    for (const endpoint of [
      'ftp://a.example',
      'https://u:p@a.example',
      'https://a.example/?key=1',
      'no address',
      `https://a.example/${'x'.repeat(2100)}`,
    ])
      expect(await refused({ endpoint }), endpoint).toMatchObject({
        status: 400,
        issues: [{ path: 'config.endpoint' }],
      })
    expect(await refused({ endpoint: undefined })).toMatchObject({ issues: [{ path: 'config.endpoint' }] })
    for (const endpoint of ['https://10.20.1.5', 'http://203.0.114.7', 'https://169.254.169.254'])
      expect(await refused({ endpoint }), endpoint).toMatchObject({
        status: 409,
        issues: [{ path: 'config.endpoint', message: expect.stringContaining('`otlp:`') }],
      })
    for (const [headers, path] of [
      [{ 'x y': 'a' }, 'config.headers.x y'],
      [{ 'x-a': 'a\r\nx-b: b' }, 'config.headers.x-a'],
      [{ 'x-a': 'ü' }, 'config.headers.x-a'],
      [{ 'x-a': ' a' }, 'config.headers.x-a'],
      [{ 'x-a': '' }, 'config.headers.x-a'],
      [{ Host: 'a.example' }, 'config.headers.Host'],
      [{ 'Content-Length': '1' }, 'config.headers.Content-Length'],
      [{ 'x-a': '1', 'X-A': '2' }, 'config.headers'],
      [{ 'x-a': 'x'.repeat(5_000) }, 'config.headers.x-a'],
      [{ 'x-a': 'x'.repeat(3_000), 'x-b': 'x'.repeat(3_000), 'x-c': 'x'.repeat(3_000) }, 'config.headers'],
      [Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`x-${at}`, 'a'])), 'config.headers'],
    ] as const)
      expect(await refused({ headers }), JSON.stringify(headers).slice(0, 80)).toMatchObject({
        status: 400,
        issues: [{ path }],
      })
  })

  it('are those of one project: another tenant neither reads nor changes them, a member only reads them', async () => {
    const { owner, projectId, organizationId } = await hub.fleet()
    const other = await hub.user()
    const member = await hub.user()
    await hub.pool.query('insert into organization_member (organization_id, user_id) values ($1, $2)', [
      organizationId,
      member.userId,
    ])
    const config = { enabled: true, endpoint: 'http://127.0.0.1:9', headers: { 'x-key': 'a' } }
    await owner.invoke('projects_SetOtlpConfig', { projectId, config })
    for (const { invoke } of [other, member])
      expect(await failed(invoke('projects_SetOtlpConfig', { projectId, config }))).toMatchObject({
        kind: 'Forbidden',
      })
    expect(await failed(other.invoke('projects_GetOtlpConfig', { projectId }))).toMatchObject({
      kind: 'Forbidden',
    })
    expect((await member.invoke('projects_GetOtlpConfig', { projectId })).config.headers).toEqual({
      'x-key': MASKED_HEADER,
    })
  })
})

describe('OTLP', () => {
  it('takes an endpoint as base address, or as address for logs', () => {
    expect(
      ['https://a', 'https://a/', 'https://a/otlp', 'https://a/otlp/', 'https://a/x/v1/logs'].map(
        text => logsUrl(text).href,
      ),
    ).toEqual([
      'https://a/v1/logs',
      'https://a/v1/logs',
      'https://a/otlp/v1/logs',
      'https://a/otlp/v1/logs',
      'https://a/x/v1/logs',
    ])
  })

  it('has settings as docs/webhooks.md shows them', async () => {
    const text = await readFile(join(import.meta.dirname, '../../../../../docs/webhooks.md'), 'utf8')
    const [, example] = /```json\n(\{"enabled".*\})\n```/.exec(text)!
    const config = JSON.parse(example!.replace('…', 'abc')) as unknown
    expect(
      actions.projects_SetOtlpConfig.input.parse({ projectId: `p_${'1'.repeat(22)}`, config }),
    ).toMatchObject({
      config: { endpoint: 'https://collector.example:4318' },
    })
  })

  it('keeps numbers exactly or as texts, and leaves out times that it cannot have', () => {
    const source = {
      organizationId: 'org_1',
      projectId: 'p_1',
      projectName: 'Harbor',
      deviceId: 'd_1',
      deviceName: null,
      hostname: null,
    }
    const event = { eventId: 'd_ev_1', severity: 'Trace', category: null, attributes: '[]' }
    const numbers = '[9223372036854775807, -9223372036854775808, 9223372036854775808, 1e400, 1.0, -0.5, 1e3]'
    const logs = resourceLogs(source, [
      { ...event, body: numbers, emittedMicros: '-5', receivedMicros: '1796025600000001' },
      { ...event, body: 'null', emittedMicros: '4070908800000000000', receivedMicros: '0' },
    ])
    const [first, second] = recordsOf({ body: JSON.stringify({ resourceLogs: [logs] }) })
    expect(first).toMatchObject({
      timeUnixNano: '0',
      observedTimeUnixNano: '1796025600000001000',
      severityNumber: 1,
      body: {
        arrayValue: {
          values: [
            { intValue: '9223372036854775807' },
            { intValue: '-9223372036854775808' },
            { stringValue: '9223372036854775808' },
            { stringValue: '1e400' },
            { intValue: '1' },
            { doubleValue: -0.5 },
            { intValue: '1000' },
          ],
        },
      },
    })
    expect(second).toMatchObject({ timeUnixNano: '0', body: {} })
  })

  it('reads how many records a collector has rejected', () => {
    expect(
      [
        '{}',
        '',
        '{"partialSuccess":{"rejectedLogRecords":"17","errorMessage":"x',
        '{"rejectedLogRecords": 3}',
      ].map(rejectedCount),
    ).toEqual([0, 0, 17, 3])
  })
})

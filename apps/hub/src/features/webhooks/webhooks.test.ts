import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ActionInput, newDatedId } from '@muster/actions'
import {
  auditEvents,
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
import { GuardedHttpClient } from '../../platform/storage/guarded-http-client.ts'
import { pauseAfter } from './delivery-state.ts'
import { prepare } from './formats.ts'
import { Sender } from './sender.ts'
import { signedHeaders } from './signature.ts'
import { testMessage } from './special-messages.ts'
import { whileSessionsEnd } from './testing/ended-sessions.ts'
import { type Received, type Receiver, receiver } from './testing/receiver.ts'
import { holdAfterRestore } from './upkeep.ts'

let hub: TestHub
let owner: TestUser

beforeAll(async () => {
  const limits = { ...loadConfig({}).limits, 'organization-webhooks': 5, 'webhook-waiting-messages': 600 }
  hub = await testHub({ webhooksAllow: ['127.0.0.0/8'], limits })
  owner = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())

type Created = { organizationId: string; projectId: string; webhookId: string; signingSecret: string }

/** An organization with a project and a webhook to a receiver. */
async function webhookTo(
  { url }: Pick<Receiver, 'url'>,
  more: Partial<ActionInput<'webhooks_Create'>> = {},
): Promise<Created> {
  const organizationId = await hub.organization(owner)
  const projectId = await hub.project(owner, organizationId)
  const made = await owner.invoke('webhooks_Create', {
    organizationId,
    name: 'Tickets',
    format: 'standard',
    url,
    types: ['projects.*', 'load.*'],
    ...more,
  })
  if (made.result !== 'Created') throw new Error(`the test failed: ${JSON.stringify(made.test)}`)
  return { organizationId, projectId, ...made }
}

const rename = (projectId: string, name: string) => owner.invoke('projects_SetName', { projectId, name })
const detailsOf = (webhookId: string) => owner.invoke('webhooks_GetDetails', { webhookId })

/** Inserts events that no handler has emitted. */
async function insertEvents(
  organizationId: string,
  count: number,
  query: (text: string, values: unknown[]) => Promise<unknown> = (...given) => hub.pool.query(...given),
): Promise<void> {
  const ids = Array.from({ length: count }, () => newDatedId('audit_ev'))
  await query(
    `insert into audit_event (event_id, event, actor, data, organization_id, created_at)
     select id, 'load_Event', '{"actor": "System"}', '{}', $2, clock_timestamp() from unnest($1::text[]) id`,
    [ids, organizationId],
  )
  hub.services.dispatcher.wake()
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

/** Whether a request has a signature of a secret, as Standard Webhooks 1.0.0 computes it. */
function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const signature = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(signature)
}

describe('a webhook', () => {
  it('gets signed messages of its types, within a second of their commit', async () => {
    await using target = await receiver()
    const { organizationId, projectId, webhookId, signingSecret } = await webhookTo(target)
    const committedMs = performance.now()
    await rename(projectId, 'Harbor')
    await until('it arrives', () => target.requests.length === 1)
    const [request] = target.requests
    expect(request!.atMs - committedMs).toBeLessThan(5_000)
    expect(request).toMatchObject({
      method: 'POST',
      path: '/hook',
      headers: { 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_/) },
    })
    expect(request!.headers.expect).toBeUndefined()
    expect(isSignedBy(signingSecret, request!)).toBe(true)
    expect(JSON.parse(request!.body)).toEqual({
      type: 'projects.NameChanged',
      timestamp: expect.any(String),
      position: expect.any(Number),
      data: expect.objectContaining({ organizationId, projectId, data: { projectId, name: 'Harbor' } }),
    })
    await until('it is stored', async () => (await detailsOf(webhookId)).waitingCount === 0)
    expect(await detailsOf(webhookId)).toMatchObject({
      state: 'Delivering',
      address: target.url,
      attemptCount: 1,
      successCount: 1,
    })
    expect(await owner.invoke('webhooks_QueryAttempts', { webhookId })).toEqual({
      attempts: [
        {
          messageId: request!.headers['webhook-id'],
          type: 'projects.NameChanged',
          attempt: 1,
          attemptedAt: expect.any(String),
          isSuccess: true,
          status: 204,
          answer: '',
          tookMs: expect.any(Number),
        },
      ],
    })
  })

  it('of a project gets messages of this project only, also from another node', async () => {
    await using target = await receiver()
    const organizationId = await hub.organization(owner)
    const [one, two] = [await hub.project(owner, organizationId), await hub.project(owner, organizationId)]
    const input = {
      organizationId,
      projectId: one!,
      name: 'One',
      format: 'standard' as const,
      url: target.url,
    }
    await owner.invoke('webhooks_Create', { ...input, types: ['projects.NameChanged'] })
    await using node = await secondNode(hub, { webhooksAllow: ['127.0.0.0/8'] })
    await rename(two!, 'Two')
    await node.pipeline.run({ actor: 'System' }, 'projects_SetName', { projectId: one!, name: 'One' })
    await until('it arrives', () => target.requests.length > 0)
    expect(target.requests.map(({ body }) => JSON.parse(body).data.projectId)).toEqual([one])
  })

  it('is made only if its test is answered with 2xx, and shows its secret once', async () => {
    await using target = await receiver()
    target.answer = (_, response) => void response.writeHead(500).end('broken')
    const organizationId = await hub.organization(owner)
    const input = { organizationId, name: 'T', format: 'standard' as const, url: target.url, isTested: true }
    expect(await owner.invoke('webhooks_Create', input)).toMatchObject({
      result: 'TestFailed',
      test: { isSuccess: false, status: 500, answer: 'broken' },
    })
    expect((await owner.invoke('webhooks_Query', { organizationId })).webhooks).toEqual([])
    target.answer = (_, response) => void response.end('fine')
    const made = await owner.invoke('webhooks_Create', input)
    expect(made).toMatchObject({ result: 'Created', test: { isSuccess: true, status: 200, answer: 'fine' } })
    if (made.result !== 'Created') return
    expect(made.signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { rows } = await hub.pool.query('select w::text from webhook w where webhook_id = $1', [
      made.webhookId,
    ])
    expect(rows[0].w).not.toContain(made.signingSecret.slice(6))
    expect(await owner.invoke('webhooks_Test', { webhookId: made.webhookId })).toMatchObject({
      test: { status: 200 },
    })
  })

  it('refuses addresses and fields that cannot be right, with the field', async () => {
    const organizationId = await hub.organization(owner)
    const input = { organizationId, name: 'T', format: 'standard' as const, url: 'https://203.0.114.7/hook' }
    const refused = (more: object) =>
      failed(owner.invoke('webhooks_Create', { ...input, ...more } as typeof input))
    for (const url of [
      'https://10.20.1.5/',
      'http://203.0.114.7/',
      'https://169.254.169.254/',
      'https://[::1]/',
    ])
      expect(await refused({ url }), url).toMatchObject({
        status: 409,
        issues: [{ path: 'url', message: expect.stringContaining('MUSTER_OUTBOUND_ALLOW') }],
      })
    for (const url of [
      'ftp://a.example',
      'https://u:p@a.example',
      'no address',
      `https://a.example/${'x'.repeat(2100)}`,
    ])
      expect(await refused({ url }), url).toMatchObject({ status: 400, issues: [{ path: 'url' }] })
    expect(await refused({ format: 'custom', template: '{"a": {{x}}}' })).toMatchObject({
      issues: [{ path: 'template' }],
    })
    expect(await refused({ format: 'custom' })).toMatchObject({ issues: [{ path: 'template' }] })
    expect(await refused({ format: 'matrix', credential: 'x' })).toMatchObject({ issues: [{ path: 'room' }] })
    expect(await refused({ types: ['devices'] })).toMatchObject({ issues: [{ path: 'types.0' }] })
    for (let count = 0; count < 5; count++)
      await owner.invoke('webhooks_Create', { ...input, url: 'http://127.0.0.1:9/' })
    expect(await refused({ url: 'http://127.0.0.1:9/' })).toMatchObject({
      message: expect.stringContaining('Limit organization-webhooks: found 6, expected at most 5 webhooks.'),
    })
    const member = await hub.user()
    expect(await failed(member.invoke('webhooks_Query', { organizationId }))).toMatchObject({
      kind: 'Forbidden',
    })
  })

  it('tries again after growing pauses, and after five failures in a row only with the oldest message', async () => {
    await using target = await receiver()
    const { organizationId, webhookId } = await webhookTo(target)
    target.answer = (_, response) =>
      void response.writeHead(502, { 'retry-after': '90' }).end('x'.repeat(1_000))
    await insertEvents(organizationId, 12)
    await until(
      'it fails',
      async () => (await detailsOf(webhookId)).state === 'Failing' && target.requests.length >= 5,
    )
    await until('its turn has ended', async () => (await detailsOf(webhookId)).nextAttemptAt !== undefined)
    const { waitingCount, nextAttemptAt, turnsOffAt, failingSince } = await detailsOf(webhookId)
    expect(waitingCount).toBe(12)
    expect(Date.parse(turnsOffAt!) - Date.parse(failingSince!)).toBe(5 * 24 * 60 * 60 * 1000)
    // Retry-After counts.
    expect(Date.parse(nextAttemptAt!) - Date.now()).toBeGreaterThan(60_000)
    const before = target.requests.length
    expect(before).toBeLessThanOrEqual(8)
    await passPause(webhookId)
    await until('the oldest is tried', () => target.requests.length === before + 1)
    const { rows } = await hub.pool.query(
      'select message_id, tries from webhook_delivery where webhook_id = $1 order by position',
      [webhookId],
    )
    expect(rows[0].message_id).toBe(target.requests.at(-1)!.headers['webhook-id'])
    expect(rows.at(-1).tries).toBe(0)
    const { attempts } = await owner.invoke('webhooks_QueryAttempts', {
      webhookId,
      filter: { messageId: rows[0].message_id },
    })
    expect(attempts).toMatchObject([
      { attempt: 2, status: 502, answer: 'x'.repeat(256), isSuccess: false },
      { attempt: 1 },
    ])
    target.answer = (_, response) => void response.end()
    await passPause(webhookId)
    await until('all arrive', async () => (await detailsOf(webhookId)).waitingCount === 0)
    expect(target.ids()).toHaveLength(12)
    expect(await detailsOf(webhookId)).toMatchObject({ state: 'Delivering' })
  })

  it('gives a message up after eight attempts, and sends it once more when a person asks', async () => {
    await using target = await receiver()
    const { projectId, webhookId } = await webhookTo(target)
    target.answer = (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
    await rename(projectId, 'Harbor')
    for (let attempt = 1; attempt <= 8; attempt++) {
      await until(`attempt ${attempt}`, () => target.requests.length === attempt)
      await until('it is stored', async () => (await detailsOf(webhookId)).attemptCount === attempt)
      await passPause(webhookId)
    }
    await until('it is given up', async () => (await detailsOf(webhookId)).waitingCount === 0)
    const messageId = target.ids()[0]!
    target.answer = (_, response) => void response.end()
    await owner.invoke('webhooks_ResendMessage', { webhookId, messageId })
    await until('it arrives', () => target.requests.length === 9)
    expect(target.ids()).toEqual([messageId])
    await until('it is delivered', async () => (await detailsOf(webhookId)).successCount === 1)
    const other = await webhookTo(target)
    expect(
      await failed(owner.invoke('webhooks_ResendMessage', { webhookId: other.webhookId, messageId })),
    ).toMatchObject({
      issues: [{ path: 'messageId' }],
    })
  })

  it('is turned off by 410 and after five days without success, with a mail, and sends what waits when it is turned on', async () => {
    await using target = await receiver()
    for (const [status, reason] of [
      [410, 'Gone'],
      [500, 'NoSuccess'],
    ] as const) {
      const { organizationId, projectId, webhookId } = await webhookTo(target)
      target.answer = (_, response) => void response.writeHead(status).end()
      if (reason === 'NoSuccess')
        await hub.pool.query(
          "update webhook_queue set failing_since = now() - interval '121 h' where webhook_id = $1",
          [webhookId],
        )
      await rename(projectId, 'Harbor')
      await until('it is off', async () => (await detailsOf(webhookId)).state === 'Off')
      expect(await detailsOf(webhookId)).toMatchObject({ offReason: reason, waitingCount: 1 })
      const events = (await auditEvents(hub, 'webhooks_TurnedOff')).filter(
        one => one.organizationId === organizationId,
      )
      expect(events).toMatchObject([{ data: { webhookId, name: 'Tickets', reason } }])
      target.answer = (_, response) => void response.end()
      await owner.invoke('webhooks_Set', { webhookId, name: 'Tickets', types: ['projects.*'], isOn: true })
      await until('it arrives', async () => (await detailsOf(webhookId)).waitingCount === 0)
    }
    const mails = await hub.mailsTo(owner.email, 2)
    expect(mails[0]!.subject).toBe('Webhook Tickets was turned off')
  })

  it('is held by a restore until a person sends or drops what waits', async () => {
    await using target = await receiver()
    target.answer = (_, response) => void response.writeHead(500).end()
    for (const waiting of ['Send', 'Drop'] as const) {
      const { projectId, webhookId } = await webhookTo(target)
      await rename(projectId, 'Before')
      await until('it fails', async () => (await detailsOf(webhookId)).state === 'Failing')
      await until('its turn ends', async () => (await detailsOf(webhookId)).nextAttemptAt !== undefined)
      await using session = await databaseSession(hub)
      const held = await holdAfterRestore({
        query: async (text: string) => ({ rows: await session.query(text) }),
      } as never)
      expect(held).toContain(webhookId)
      const count = target.requests.length
      await rename(projectId, 'After')
      await until('both wait', async () => (await detailsOf(webhookId)).waitingCount === 2)
      await sleep(1_500)
      expect(target.requests).toHaveLength(count)
      expect(await detailsOf(webhookId)).toMatchObject({ state: 'Held' })
      target.answer = (_, response) => void response.end()
      await owner.invoke('webhooks_StartDelivery', { webhookId, waiting })
      await until('none waits', async () => (await detailsOf(webhookId)).waitingCount === 0)
      expect(target.requests.length - count).toBe(waiting === 'Send' ? 2 : 0)
      if (waiting === 'Drop')
        expect(
          await owner.invoke('webhooks_ResendFailed', { webhookId, since: '2026-01-01T00:00:00Z' }),
        ).toEqual({ messageCount: 2 })
      target.answer = (_, response) => void response.writeHead(500).end()
    }
  })

  it('signs with the former secret too after a change, and says goodbye to a former address', async () => {
    await using target = await receiver()
    await using other = await receiver()
    const { projectId, webhookId, signingSecret } = await webhookTo(target)
    const { signingSecret: next } = await owner.invoke('webhooks_ResetSecret', { webhookId })
    await rename(projectId, 'Harbor')
    await until('it arrives', () => target.requests.length === 1)
    expect([signingSecret, next].map(secret => isSignedBy(secret, target.requests[0]!))).toEqual([true, true])
    await hub.pool.query("update webhook set former_until = now() - interval '1 s' where webhook_id = $1", [
      webhookId,
    ])
    await owner.invoke('webhooks_Set', {
      webhookId,
      name: 'Moved',
      url: other.url,
      types: ['projects.*'],
      isOn: true,
    })
    expect(JSON.parse(target.requests.at(-1)!.body)).toMatchObject({
      type: 'webhook.deleted',
      data: { data: { webhookId } },
    })
    await rename(projectId, 'Quay')
    await until('it arrives', () => other.requests.length === 1)
    expect([signingSecret, next].map(secret => isSignedBy(secret, other.requests[0]!))).toEqual([false, true])
    await owner.invoke('webhooks_Delete', { webhookId })
    expect(other.requests.map(({ body }) => JSON.parse(body).type)).toEqual([
      'projects.NameChanged',
      'webhook.deleted',
    ])
    expect(await failed(detailsOf(webhookId))).toMatchObject({ kind: 'Forbidden' })
  })

  it('counts what it drops beyond the limit of waiting messages', async () => {
    await using target = await receiver()
    target.answer = (_, response) => void response.writeHead(500).end()
    const { organizationId, webhookId } = await webhookTo(target)
    await insertEvents(organizationId, 700)
    await until('they wait', async () => (await detailsOf(webhookId)).droppedCount > 0)
    expect(await detailsOf(webhookId)).toMatchObject({ waitingCount: 600, droppedCount: 100 })
  })

  it('loses nothing and sends no message under two ids while nodes share it and their sessions are ended', async () => {
    await using target = await receiver()
    const { organizationId, webhookId } = await webhookTo(target)
    await using node = await secondNode(hub, { webhooksAllow: ['127.0.0.0/8'] })
    await using writer = await databaseSession(hub)
    const wake = () => {
      for (const { services } of [hub, node]) services.deliverer.wake()
    }
    const ended = { statements: 'webhook_(queue|delivery)', wake, pauseMs: 50 }
    await whileSessionsEnd(hub, ended, async () => {
      for (let batch = 0; batch < 10; batch++) {
        await insertEvents(organizationId, 40, writer.query)
        await sleep(100)
      }
    })
    // A claim of a turn whose end could not be stored runs out.
    await hub.pool.query(
      "update webhook_queue set claimed_until = now() - interval '1 s' where webhook_id = $1 and claimed_until is not null",
      [webhookId],
    )
    await until('all arrive', async () => (await detailsOf(webhookId)).waitingCount === 0)
    const { rows } = await hub.pool.query(
      "select message_id from outbox where organization_id = $1 and type = 'load.Event'",
      [organizationId],
    )
    expect(target.ids().toSorted()).toEqual(rows.map(row => row.message_id).toSorted())
    expect(rows).toHaveLength(400)
  })

  it('does not hold up another one that answers', async () => {
    await using slow = await receiver()
    await using quick = await receiver()
    slow.answer = () => {}
    const hung = await webhookTo(slow)
    const { projectId } = await webhookTo(quick)
    await insertEvents(hung.organizationId, 200)
    await until('it hangs', () => slow.requests.length === 4)
    const committedMs = performance.now()
    await rename(projectId, 'Harbor')
    await until('it arrives', () => quick.requests.length === 1)
    expect(quick.requests[0]!.atMs - committedMs).toBeLessThan(5_000)
    expect(slow.requests.length).toBe(4)
  })
})

describe('a sender', () => {
  const about = { organizationId: 'org_1', webhookId: 'wh_1', name: 'Tickets' }
  const message = testMessage(about, 'msg_1')
  const never = new AbortController().signal
  const send = (sender: Sender, url: string, deadlineMs = 1_500) =>
    sender.send({ url, format: 'standard' }, ['whsec_AAAA'], message, never, deadlineMs)

  it('bounds an answer that never ends, comes a byte at a time, or does not come', async () => {
    await using target = await receiver()
    const sender = new Sender(
      new GuardedHttpClient(['127.0.0.0/8'], { needsTls: true }),
      'https://hub.example',
    )
    target.answer = async (_, response) => {
      response.writeHead(200)
      while (!response.closed) if (!response.write(Buffer.alloc(1024 ** 2))) await sleep(1)
    }
    expect(await send(sender, target.url)).toMatchObject({ isSuccess: true, status: 200 })
    target.answer = (_, response) => void response.writeHead(200).write('a')
    expect(await send(sender, target.url)).toMatchObject({ isSuccess: true, answer: 'a' })
    target.answer = (_, response) => response.socket!.write('H') as never
    const startedMs = performance.now()
    expect(await send(sender, target.url)).toMatchObject({
      isSuccess: false,
      error: 'No answer within 1.5 s.',
    })
    expect(performance.now() - startedMs).toBeLessThan(8_000)
    target.answer = (_, response) => void response.socket!.destroy()
    expect(await send(sender, target.url)).toMatchObject({
      error: 'The receiver closed the connection (ECONNRESET).',
    })
  })

  it('refuses a host name that changes to a private address, at each attempt', async () => {
    await using target = await receiver()
    let address = '127.0.0.1'
    const http = new GuardedHttpClient(['127.0.0.1'], {
      needsTls: true,
      lookUp: async () => [{ address, family: 4 }],
    })
    const sender = new Sender(http, 'https://hub.example')
    const url = target.url.replace('127.0.0.1', 'rebinding.example')
    expect(await send(sender, url)).toMatchObject({ isSuccess: true })
    address = '192.168.0.7'
    expect(await send(sender, url)).toMatchObject({
      isSuccess: false,
      error: expect.stringContaining('public address'),
    })
    expect(target.requests).toHaveLength(1)
  })

  it('fills templates after parsing, so that no value changes the structure', () => {
    const hostile = {
      ...message,
      data: { organizationId: 'org_1', title: '"}, {"a": "{{id}}', data: { name: '<!channel> *x*' } },
    }
    const target = {
      url: 'https://a.example/x',
      format: 'custom' as const,
      template: '{"text": "{{title}}", "n": [1, "{{ data.data.name }}", "{{alert.none}}"]}',
    }
    expect(JSON.parse(prepare(target, hostile, 'https://hub.example').body)).toEqual({
      text: '"}, {"a": "{{id}}',
      n: [1, '<!channel> *x*', ''],
    })
    const slack = prepare({ ...target, format: 'slack' }, hostile, 'https://hub.example')
    expect(JSON.parse(slack.body).text).toContain('&lt;!channel&gt;')
  })

  it.each([
    ['matrix', 'PUT', '/_matrix/client/v3/rooms/!r%3Ax/send/m.room.message/msg_1', { msgtype: 'm.text' }],
    ['ntfy', 'POST', '/', { topic: 'duty', title: 'Test of the webhook Tickets' }],
    ['pagerduty', 'POST', '/duty', { routing_key: 'k', event_action: 'trigger', dedup_key: 'msg_1' }],
    ['teams', 'POST', '/duty', { type: 'message' }],
  ] as const)('writes messages for %s', (format, method, path, body) => {
    const url = format === 'matrix' ? 'https://m.example' : 'https://m.example/duty'
    const prepared = prepare({ url, format, room: '!r:x', credential: 'k' }, message, 'https://hub.example')
    expect(prepared).toMatchObject({ method, url: new URL(`https://m.example${path}`), isSigned: false })
    expect(JSON.parse(prepared.body)).toMatchObject(body)
  })

  it('signs as the test vector of the libraries of Standard Webhooks', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const at = new Date(1_614_265_330_000)
    expect(signedHeaders([secret], 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, '{"test": 2432232314}')).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('pauses 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and at least for a Retry-After', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(tries => pauseAfter(tries, undefined, () => 0.5))).toEqual([
      5,
      300,
      1_800,
      7_200,
      18_000,
      36_000,
      36_000,
      undefined,
    ])
    expect(pauseAfter(1, 60)).toBe(60)
    expect(pauseAfter(2, 60, () => 0)).toBe(270)
  })
})

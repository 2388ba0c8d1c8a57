import { createServer } from 'node:http'
import { newDatedId, type webhooks } from '@muster/actions'
import { webhookRow } from '../rows.ts'
import { text, time, timeOf } from './list-items.ts'
import { READERS, type Rows, type World } from './row.ts'

const may = ['organizationAdmin'] as const

/** Turns the feed of the organization on. */
async function feedOn({ hub, organizationId }: World): Promise<string> {
  await hub.pool.query(
    `insert into outbox_reader (organization_id, is_copied, feed_epoch) values ($1, true, 'e')
     on conflict (organization_id) do update set is_copied = true, feed_epoch = 'e'`,
    [organizationId],
  )
  return organizationId
}

/** Input with a new webhook of the organization, which is off. */
async function ofWebhook({ hub, organizationId }: World): Promise<{ webhookId: string }> {
  return { webhookId: await webhookRow(hub, organizationId) }
}

let receiver: Promise<string> | undefined

/** Address of a receiver on this machine that takes every message. It does not keep the process alive. */
function receiverUrl(): Promise<string> {
  receiver ??= new Promise(done => {
    const server = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
    server.listen(0, '127.0.0.1', () => {
      server.unref()
      const { port } = server.address() as { port: number }
      done(`http://127.0.0.1:${port}/hook`)
    })
  })
  return receiver
}

export const webhookRows: Rows<typeof webhooks> = {
  webhooks_Query: {
    input: ({ organizationId }) => ({ organizationId }),
    may,
    list: {
      items: 'webhooks',
      id: 'webhookId',
      sorts: { name: text('name'), createdAt: time('createdAt') },
      defaultSort: 'name',
      hasText: true,
      add: async ({ hub, organizationId }, name, index) => {
        await webhookRow(hub, organizationId, { name, createdAt: timeOf(index) })
      },
    },
  },
  webhooks_GetDetails: { input: ofWebhook, may },
  webhooks_QueryAttempts: { input: ofWebhook, may, list: null },
  webhooks_Create: {
    input: async ({ organizationId, projectId }) => ({
      organizationId,
      projectId,
      name: 'Tickets',
      format: 'standard',
      url: await receiverUrl(),
      isTested: true,
    }),
    may,
    audited: async ({ organizationId, plant }) => ({
      organizationId,
      name: 'Tickets',
      format: 'custom',
      url: `${await receiverUrl()}?key=${plant()}`,
      credential: plant(),
      template: '{"text": "{{title}}"}',
    }),
  },
  webhooks_Set: {
    input: async world => ({
      ...(await ofWebhook(world)),
      name: 'Tickets',
      url: await receiverUrl(),
      isOn: false,
    }),
    may,
    audited: async world => ({
      ...(await ofWebhook(world)),
      name: 'Tickets',
      url: `${await receiverUrl()}?key=${world.plant()}`,
      credential: world.plant(),
      isOn: false,
    }),
  },
  webhooks_Delete: { input: ofWebhook, may },
  webhooks_Test: { input: ofWebhook, may },
  webhooks_ResetSecret: { input: ofWebhook, may },
  webhooks_ResendMessage: {
    input: async world => {
      const { webhookId } = await ofWebhook(world)
      const messageId = newDatedId('msg')
      await world.hub.pool.query(
        `insert into webhook_delivery (webhook_id, message_id, created_at, position, type, state) values ($1, $2, now(), 1, 'a.B', 'Failed')`,
        [webhookId, messageId],
      )
      return { webhookId, messageId }
    },
    may,
  },
  webhooks_ResendFailed: {
    input: async world => ({ ...(await ofWebhook(world)), since: '2026-01-01T00:00:00Z' }),
    may,
  },
  webhooks_StartDelivery: { input: async world => ({ ...(await ofWebhook(world)), waiting: 'Drop' }), may },
  projects_GetOtlpConfig: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_SetOtlpConfig: {
    input: async ({ projectId }) => ({
      projectId,
      config: { enabled: false, endpoint: await receiverUrl(), headers: {} },
    }),
    may,
    audited: async ({ projectId, plant }) => ({
      projectId,
      config: { enabled: true, endpoint: await receiverUrl(), headers: { 'x-key': plant() } },
    }),
  },
  events_Query: {
    input: async world => ({
      organizationId: await feedOn(world),
      projectId: world.projectId,
      types: ['none.*'],
      from: 'Now',
    }),
    may: READERS,
  },
  events_GetFeed: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  events_SetFeed: { input: ({ organizationId }) => ({ organizationId, isOn: true }), may },
}

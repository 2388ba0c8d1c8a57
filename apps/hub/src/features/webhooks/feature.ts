import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import type { ServiceParts } from '../../platform/pipeline/services.ts'
import type { SecretBox } from '../../platform/storage/secret-box.ts'
import * as actions from './actions/index.ts'
import { Deliverer } from './deliverer.ts'
import { Dispatcher } from './dispatcher.ts'
import { Exporter } from './exporter.ts'
import { FeedWaits } from './feed-waits.ts'
import * as jobs from './jobs/index.ts'
import { createOutboxPartitions } from './jobs/MaintainOutbox.ts'
import { owners } from './owners.ts'
import { Sender } from './sender.ts'
import { startWebhooks } from './start.ts'
import { holdAfterRestore, removeOldDeliveries } from './upkeep.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `events_SetFeed`. */
  events_FeedChanged: event<{ organizationId: string; isOn: boolean }>({ ids: ['organizationId'] }),
  /** Written by `projects_SetOtlpConfig`, with the names of the headers. */
  projects_OtlpConfigChanged: event<{
    projectId: string
    enabled: boolean
    endpoint?: string
    headerNames: string[]
  }>({ ids: ['projectId'] }),
  /** Written by the hub when events are not exported because too many wait, at most once an hour; `droppedCount` is that since the export was made. */
  projects_ExportedEventsDropped: event<{ projectId: string; webhookId: string; droppedCount: number }>({
    ids: ['projectId', 'webhookId'],
  }),
  /** Written by `webhooks_Create`. `address` has no part that may be secret. */
  webhooks_Created: event<{
    organizationId: string
    projectId?: string
    webhookId: string
    name: string
    format: string
    address: string
  }>({ ids: ['organizationId', 'projectId', 'webhookId'] }),
  /** Written by `webhooks_Set`. */
  webhooks_Changed: event<{
    organizationId: string
    webhookId: string
    name: string
    address: string
    types?: string[]
    isOn: boolean
  }>({ ids: ['organizationId', 'webhookId'] }),
  /** Written by `webhooks_Delete`. */
  webhooks_Deleted: event<{ organizationId: string; webhookId: string; name: string }>({
    ids: ['organizationId', 'webhookId'],
  }),
  /** Written by `webhooks_Test`, with the status of the answer, if there was one. */
  webhooks_Tested: event<{ organizationId: string; webhookId: string; name: string; status?: number }>({
    ids: ['organizationId', 'webhookId'],
  }),
  /** Written by `webhooks_ResetSecret`. */
  webhooks_SecretReset: event<{ organizationId: string; webhookId: string; name: string }>({
    ids: ['organizationId', 'webhookId'],
  }),
  /** Written by `webhooks_ResendMessage` and `webhooks_ResendFailed`, with the number of messages. */
  webhooks_MessagesResent: event<{
    organizationId: string
    webhookId: string
    name: string
    messageCount: number
  }>({ ids: ['organizationId', 'webhookId'] }),
  /** Written by `webhooks_StartDelivery`, after a restore. `waiting` is `Send` or `Drop`. */
  webhooks_DeliveryStarted: event<{
    organizationId: string
    webhookId: string
    name: string
    waiting: string
  }>({ ids: ['organizationId', 'webhookId'] }),
  /** Written by the hub when the receiver of a webhook answered 410 (`Gone`), or not with 2xx for five days (`NoSuccess`). */
  webhooks_TurnedOff: event<{
    organizationId: string
    webhookId: string
    name: string
    reason: string
  }>({ ids: ['organizationId', 'webhookId'] }),
  /** Written by the job that mails an administrator that a webhook was turned off. */
  webhooks_OffEmailSent: event<{ organizationId: string; webhookId: string; userId: string }>({
    ids: ['organizationId', 'webhookId', 'userId'],
  }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'organization-webhooks': {
    scope: 'organization',
    unit: 'webhooks',
    default: 50,
    max: 1_000,
    meaning: 'Webhooks of an organization, with those and the exports (OTLP) of its projects.',
  },
  'webhook-waiting-messages': {
    scope: 'organization',
    unit: 'messages',
    default: 100_000,
    max: 10_000_000,
    meaning:
      'Messages that wait for one webhook; further ones are not delivered, and its page says how many.',
  },
  'project-export-waiting-events': {
    scope: 'project',
    unit: 'events',
    default: 2_000_000,
    max: 100_000_000,
    meaning:
      'Events of devices that wait for the export of their project (OTLP), for which their ids are kept; further ones are not exported, and the webhook of the export says how many.',
  },
  'person-feed-waits': {
    scope: 'person',
    unit: 'requests',
    default: 8,
    max: 10_000,
    meaning:
      'Requests of a person that wait for the next event of a feed on one node; all people together wait with 500. Further ones are refused.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

declare module '../../platform/pipeline/services.ts' {
  interface FeatureServices {
    /** Delivers messages to webhooks. */
    deliverer: Deliverer
    /** Parts with which handlers read and test webhooks. */
    webhookParts: WebhookParts
    /** Puts events of devices into messages of exports. */
    exporter: Exporter
    /** Numbers messages of the outbox after their commit. */
    dispatcher: Dispatcher
    /** Requests that wait for the next event of a feed. */
    feedWaits: FeedWaits
  }
}

/** Parts with which handlers read and test webhooks. */
type WebhookParts = { secretBox: SecretBox; sender: Sender }

function senderOf({ outbound, proxy }: ServiceParts): Sender {
  return new Sender(outbound.webhooks, proxy.publicUrl, outbound.otlp)
}

/** Messages for programs that are not part of the hub: webhooks, the feed of events of an organization, and exports of events of devices. */
export const webhooks = defineFeature({
  actions,
  events,
  jobs,
  limits,
  services: {
    dispatcher: parts => new Dispatcher(parts),
    exporter: parts => new Exporter(parts),
    feedWaits: parts => new FeedWaits(parts),
    deliverer: parts => new Deliverer({ ...parts, sender: senderOf(parts) }),
    webhookParts: parts => ({ secretBox: parts.secretBox, sender: senderOf(parts) }),
  },
  onStart: async context => {
    await createOutboxPartitions(context)
    return startWebhooks(context)
  },
  owners,
  retention: [removeOldDeliveries],
  onRestore: { webhookIds: holdAfterRestore },
})

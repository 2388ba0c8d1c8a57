import { z } from 'zod'
import {
  command,
  listInput,
  listOutput,
  optional,
  optionalText,
  query,
  secret,
  TextFilter,
} from './define.ts'
import { MessageId, OrganizationId, ProjectId, WebhookId } from './ids.ts'
import {
  MASKED_HEADER,
  MAX_ADDRESS_LENGTH,
  MAX_EVENT_TYPES,
  MAX_EXPORT_HEADERS,
  MAX_EXPORT_HEADERS_LENGTH,
  MAX_FEED_PAGE,
  MAX_FEED_WAIT_SECS,
  MAX_TEMPLATE_LENGTH,
} from './limits.ts'
import { BASE_URL } from './patterns.ts'
import { Empty, Name, Timestamp, text } from './scalars.ts'

/** Name of a type of messages, or all types of an area: `devices.Created`, `devices.*`. */
const EventType = text(128).regex(
  /^[a-z]+\.([A-Za-z0-9]+|\*)$/,
  'expected a type of messages such as devices.Created, or all of an area such as devices.*',
)
const EventTypes = z.array(EventType).min(1).max(MAX_EVENT_TYPES)

const Message = z.object({
  messageId: MessageId.describe('The same for each delivery of the message.'),
  type: z.string().describe('Name of an audit event with a dot: `devices.Created`.'),
  timestamp: Timestamp,
  position: z.int().describe('Number of the message in its organization.'),
  data: z.record(z.string(), z.unknown()).describe('The audit event, without address and browser.'),
})

const FORMATS = ['standard', 'slack', 'teams', 'matrix', 'ntfy', 'pagerduty', 'custom'] as const
/** Forms in which a webhook sends messages. */
export const WebhookFormat = z.enum(FORMATS)

const Address = secret(
  text(MAX_ADDRESS_LENGTH).refine(
    value => isAddress(value),
    'expected an https:// URL without user, password and fragment',
  ),
)
const Endpoint = text(MAX_ADDRESS_LENGTH)
  .min(1)
  .refine(
    value => isAddress(value) && !value.includes('?'),
    'expected an https:// URL without user, password, query and fragment: secrets belong into headers',
  )
  .meta({ pattern: BASE_URL })

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  )
}

/** Headers that the hub sets itself, or that end at the next hop. */
const OWN_HEADERS =
  /^(connection|content-.*|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/i
const HeaderName = text(128)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'expected the name of an HTTP header')
  .refine(name => !OWN_HEADERS.test(name), 'found a header that the hub sets itself')
const HeaderValue = text(MAX_EXPORT_HEADERS_LENGTH / 2).regex(
  /^[!-~]([ -~]*[!-~])?$/,
  'expected ASCII characters without blanks around them',
)
const Headers = z
  .record(HeaderName, secret(HeaderValue))
  .refine(
    headers => Object.keys(headers).length <= MAX_EXPORT_HEADERS,
    `expected at most ${MAX_EXPORT_HEADERS} headers`,
  )
  .refine(
    headers => Object.entries(headers).flat().join('').length <= MAX_EXPORT_HEADERS_LENGTH,
    `expected at most ${MAX_EXPORT_HEADERS_LENGTH} characters in names and values together`,
  )
  .refine(headers => {
    const names = Object.keys(headers).map(name => name.toLowerCase())
    return new Set(names).size === names.length
  }, 'found a header twice: upper and lower case are the same')

const Credential = secret(
  text(1024).regex(/^[!-~]([ -~]*[!-~])?$/, 'expected ASCII characters without blanks around them'),
)
const Template = text(MAX_TEMPLATE_LENGTH).refine(value => {
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}, 'expected JSON, in whose texts {{type}}, {{title}} and {{data.name}} stand for values')

/** Settings of a webhook that a person changes. */
const SETTINGS = {
  name: Name,
  room: optionalText(text(255)).describe('Id of the room, for `matrix`.'),
  template: optionalText(Template).describe('JSON text that is sent, for `custom`.'),
  types: optional(EventTypes).describe(
    'Types of messages, such as `devices.Created` or `devices.*`; missing: all.',
  ),
}

const Answer = z.object({
  isSuccess: z.boolean().describe('Whether the receiver answered with 2xx.'),
  status: z.int().optional().describe('HTTP status; absent without an answer.'),
  error: z.string().optional().describe('Why there is no answer.'),
  answer: z.string().optional().describe('Beginning of the answer, up to 256 bytes.'),
  tookMs: z.int(),
})

const Webhook = z.object({
  webhookId: WebhookId,
  organizationId: OrganizationId,
  projectId: ProjectId.optional().describe('Missing: messages of all projects.'),
  name: z.string(),
  format: z
    .enum([...FORMATS, 'otlp'])
    .describe('`otlp`: the export of the events of devices of a project (`projects_SetOtlpConfig`).'),
  address: z.string().describe('Address without the parts that may be secret.'),
  room: z.string().optional(),
  template: z.string().optional(),
  types: z.array(z.string()).optional(),
  state: z
    .enum(['Delivering', 'Failing', 'Held', 'Off'])
    .describe('`Held`: the hub was restored, and messages wait for `webhooks_StartDelivery`.'),
  offReason: z
    .enum(['Gone', 'NoSuccess'])
    .optional()
    .describe('Why the hub turned it off: the receiver answered 410, or not with 2xx for five days.'),
  waitingCount: z.int().describe('Messages that wait; for `otlp` events of devices.'),
  droppedCount: z
    .int()
    .describe(
      'Messages that were not kept for it, because too many waited. For `otlp` events of devices; also those that the collector refused for good, or that were deleted before they could be sent.',
    ),
  failingSince: Timestamp.optional(),
  turnsOffAt: Timestamp.optional().describe('When the hub turns it off if no attempt succeeds.'),
  nextAttemptAt: Timestamp.optional(),
  lastAttemptAt: Timestamp.optional(),
  lastSuccessAt: Timestamp.optional(),
  formerSignatureUntil: Timestamp.optional().describe('Until then the secret from before signs too.'),
  createdAt: Timestamp,
  changedAt: Timestamp,
})

/** Webhooks, and the feed of events of an organization. */
export const webhooks = {
  webhooks_Query: query({
    summary: 'Webhooks of an organization and its projects.',
    input: z.object({ organizationId: OrganizationId, ...listInput(['name', 'createdAt'], TextFilter) }),
    output: z.object({ webhooks: z.array(Webhook), ...listOutput }),
    cost: 'bounded',
    permission: { can: 'webhook.manage', on: 'organization', id: 'organizationId' },
  }),
  webhooks_GetDetails: query({
    summary: 'A webhook with its state.',
    input: z.object({ webhookId: WebhookId }),
    output: Webhook.extend({
      attemptCount: z.int().describe('Attempts of the last 24 h.'),
      successCount: z.int().describe('Attempts of the last 24 h that the receiver answered with 2xx.'),
    }),
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
  }),
  webhooks_QueryAttempts: query({
    summary: 'Attempts of a webhook to deliver messages, newest first.',
    input: z.object({
      webhookId: WebhookId,
      ...listInput(
        ['attemptedAt'],
        z.object({
          messageId: optional(MessageId),
          isSuccess: optional(z.boolean()).describe('Only attempts that were or were not answered with 2xx.'),
        }),
      ),
    }),
    output: z.object({
      attempts: z.array(
        Answer.extend({
          messageId: MessageId,
          type: z.string(),
          attempt: z.int().describe('Number of the attempt for this message.'),
          attemptedAt: Timestamp,
        }),
      ),
      ...listOutput,
    }),
    cost: 'scan if filtered',
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
  }),
  webhooks_Create: command({
    summary: 'Makes a webhook that sends messages of an organization or one of its projects.',
    input: z.object({
      organizationId: OrganizationId,
      projectId: optional(ProjectId).describe('Only messages of this project.'),
      format: WebhookFormat,
      url: Address.describe('Address of the receiver; of the homeserver for `matrix`.'),
      credential: optional(Credential).describe(
        'Access token for `matrix` and `ntfy`, routing key for `pagerduty`, value of the header `Authorization` for `custom`.',
      ),
      ...SETTINGS,
      isTested: optional(z.boolean()).describe(
        'Makes it only if the receiver answers a test message with 2xx.',
      ),
    }),
    output: z.discriminatedUnion('result', [
      z.object({
        result: z.literal('Created'),
        webhookId: WebhookId,
        signingSecret: z.string().describe('Secret that signs messages. It cannot be read later.'),
        test: Answer.optional(),
      }),
      z.object({ result: z.literal('TestFailed'), test: Answer }),
    ]),
    failedResults: ['TestFailed'],
    shownOnce: ['signingSecret'],
    permission: { can: 'webhook.manage', on: 'organization', id: 'organizationId' },
    audit: ['organizationId', 'projectId', 'format', 'name', 'types'],
    isCreation: true,
  }),
  webhooks_Set: command({
    summary: 'Changes a webhook: its name, address, types of messages, or whether it is on.',
    input: z.object({
      webhookId: WebhookId,
      url: optional(Address).describe('Missing: the address stays.'),
      credential: optional(Credential).describe('Missing: it stays, unless the address is of another host.'),
      ...SETTINGS,
      isOn: z.boolean(),
    }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId', 'name', 'types', 'isOn'],
  }),
  webhooks_Delete: command({
    summary: 'Deletes a webhook, after a last message of the type webhook.deleted.',
    input: z.object({ webhookId: WebhookId }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId'],
  }),
  webhooks_Test: command({
    summary: 'Sends a test message and answers what the receiver says.',
    input: z.object({ webhookId: WebhookId }),
    output: z.object({ test: Answer }),
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId'],
  }),
  webhooks_ResetSecret: command({
    summary: 'Makes a new signing secret; the one before signs too for 24 h.',
    input: z.object({ webhookId: WebhookId }),
    output: z.object({ signingSecret: z.string() }),
    shownOnce: ['signingSecret'],
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId'],
  }),
  webhooks_ResendMessage: command({
    summary: 'Sends a message of the log of a webhook once more, with the same id.',
    input: z.object({ webhookId: WebhookId, messageId: MessageId }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId', 'messageId'],
  }),
  webhooks_ResendFailed: command({
    summary: 'Sends all messages once more that could not be delivered since a time, oldest first.',
    input: z.object({ webhookId: WebhookId, since: Timestamp }),
    output: z.object({ messageCount: z.int() }),
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId', 'since'],
  }),
  webhooks_StartDelivery: command({
    summary: 'Starts a webhook that a restore holds: sends or drops the messages that wait.',
    input: z.object({ webhookId: WebhookId, waiting: z.enum(['Send', 'Drop']) }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'webhook', id: 'webhookId' },
    audit: ['webhookId', 'waiting'],
  }),
  projects_GetOtlpConfig: query({
    summary: 'Where the events of the devices of a project are sent as OTLP log records.',
    input: z.object({ projectId: ProjectId }),
    output: z.object({
      config: z.object({
        enabled: z.boolean(),
        endpoint: z.string().optional(),
        headers: z
          .record(z.string(), z.string())
          .describe(`Names of the headers, each with \`${MASKED_HEADER}\` for its value.`),
      }),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_SetOtlpConfig: command({
    summary: 'Sets where the events of the devices of a project are sent as OTLP log records.',
    input: z.object({
      projectId: ProjectId,
      config: z.object({
        enabled: z.boolean(),
        endpoint: optional(Endpoint).describe(
          'Base address of a collector with OTLP/HTTP. `/v1/logs` is appended, unless it ends so. Missing: what is stored is deleted.',
        ),
        headers: Headers.describe(
          `Headers of each request. The value \`${MASKED_HEADER}\` keeps the stored one, for the same host.`,
        ),
      }),
    }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'project', id: 'projectId' },
    audit: ['projectId'],
  }),
  events_Query: query({
    summary: 'Events of an organization, oldest first, for programs that follow them; may wait for the next.',
    input: z.object({
      organizationId: OrganizationId,
      projectId: optional(ProjectId).describe('Only events of this project.'),
      after: optionalText(text(128)).describe('`cursor` of the previous answer.'),
      from: optional(z.enum(['Oldest', 'Now'])).describe(
        'Where to begin without `after`: at the oldest event that is kept, which is the default, or after the newest.',
      ),
      types: optional(EventTypes).describe(
        'Only events of these types, such as `devices.Created` or `devices.*`.',
      ),
      limit: optional(z.int().min(1).max(MAX_FEED_PAGE)).describe(
        'Maximum number of events; 100 by default.',
      ),
      waitSecs: optional(z.int().min(0).max(MAX_FEED_WAIT_SECS)).describe(
        'How long to wait for an event if there is none; 0 by default.',
      ),
    }),
    output: z.object({
      events: z.array(
        Message.extend({ cursor: z.string().describe('Pass as `after` to go on after this event.') }),
      ),
      cursor: z.string().describe('Pass as `after` for the events that follow.'),
    }),
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  events_GetFeed: query({
    summary: 'Whether the feed of events of an organization is on.',
    input: z.object({ organizationId: OrganizationId }),
    output: z.object({ isOn: z.boolean() }),
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  events_SetFeed: command({
    summary: 'Turns the feed of events of an organization on or off.',
    input: z.object({ organizationId: OrganizationId, isOn: z.boolean() }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'organization', id: 'organizationId' },
    audit: ['organizationId', 'isOn'],
  }),
}

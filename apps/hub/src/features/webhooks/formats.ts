import type { ActionOutput } from '@muster/actions'
import type { Message } from './messages.ts'
import { logsUrl, type ResourceLogs, testLogs } from './otlp.ts'

/** Form in which a webhook sends messages. */
export type Format = ActionOutput<'webhooks_GetDetails'>['format']

/** A message for a webhook. Test messages have no position. */
export type Sent = Omit<Message, 'position' | 'messageId'> & { messageId: string; position?: number }

/** Where and how a webhook sends. */
export type Target = {
  url: string
  format: Format
  credential?: string | undefined
  room?: string | undefined
  template?: string | undefined
}

/** A request of a webhook, without its signature. */
export type Prepared = {
  method: 'POST' | 'PUT'
  url: URL
  headers: Record<string, string>
  body: string
  isSigned: boolean
}

/** Facts that a chat shows below the title, at most. */
const MAX_FACTS = 10
/** Characters of a fact or title that a chat shows. */
const MAX_TEXT = 300

/** Makes the request for a message. `publicUrl` is the address of the console, for links. */
export function prepare(target: Target, message: Sent, publicUrl: string): Prepared {
  const url = new URL(target.url)
  const link = linkOf(message, publicUrl)
  const title = titleOf(message)
  const facts = factsOf(message)
  const { credential } = target
  const json = (body: unknown, more: Partial<Prepared> = {}): Prepared => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    isSigned: false,
    body: JSON.stringify(body),
    ...more,
  })
  const bearer = {
    'content-type': 'application/json',
    ...(credential && { authorization: `Bearer ${credential}` }),
  }
  const { messageId, ...envelope } = message
  switch (target.format) {
    case 'standard':
      return json(envelope, { isSigned: true })
    case 'custom': {
      const values = { id: messageId, title, link, ...envelope, alert: envelope.data }
      return json(filled(JSON.parse(target.template ?? '{}'), values), {
        isSigned: true,
        headers: { 'content-type': 'application/json', ...(credential && { authorization: credential }) },
      })
    }
    case 'slack': {
      const lines = facts.map(([name, value]) => `${escapeSlack(name)}: ${escapeSlack(value)}`)
      return json({
        text: [`*${escapeSlack(title)}*`, ...lines, `<${escapeSlack(link)}|Open in Muster>`].join('\n'),
      })
    }
    case 'teams':
      return json({
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: {
              $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
              type: 'AdaptiveCard',
              version: '1.4',
              body: [
                { type: 'TextBlock', text: escapeMarkdown(title), weight: 'Bolder', wrap: true },
                {
                  type: 'FactSet',
                  facts: facts.map(([name, value]) => ({
                    title: escapeMarkdown(name),
                    value: escapeMarkdown(value),
                  })),
                },
              ],
              actions: [{ type: 'Action.OpenUrl', title: 'Open in Muster', url: link }],
            },
          },
        ],
      })
    case 'matrix': {
      // The message id is the id of the transaction, by which the server drops a repeated message.
      const path = `/_matrix/client/v3/rooms/${encodeURIComponent(target.room ?? '')}/send/m.room.message/${messageId}`
      const body = {
        msgtype: 'm.text',
        body: [title, ...facts.map(([name, value]) => `${name}: ${value}`), link].join('\n'),
      }
      return json(body, {
        method: 'PUT',
        url: new URL(url.pathname.replace(/\/$/, '') + path, url),
        headers: bearer,
      })
    }
    case 'ntfy': {
      // Published as JSON to the root of the server: headers could not hold every character.
      const [, folder = '/', topic = ''] = /^(.*\/)([^/]*)\/?$/.exec(url.pathname) ?? []
      const severity = textOf(message.data.severity)
      const priority = severity === 'Critical' ? 5 : severity === 'Warning' ? 4 : 3
      const body = {
        topic: decodeURIComponent(topic),
        title,
        message: facts.map(([name, value]) => `${name}: ${value}`).join('\n') || title,
        priority,
        click: link,
      }
      return json(body, { url: new URL(folder, url), headers: bearer })
    }
    case 'pagerduty': {
      const severity = { Critical: 'critical', Warning: 'warning' }[textOf(message.data.severity)] ?? 'info'
      const body = {
        routing_key: credential,
        event_action: message.type === 'alert.resolved' ? 'resolve' : 'trigger',
        dedup_key: textOf(message.data.alertId) || messageId,
        payload: {
          summary: title,
          source: textOf(message.data.organizationId) || 'muster',
          severity,
          timestamp: message.timestamp,
          custom_details: message.data,
        },
        links: [{ href: link, text: 'Open in Muster' }],
      }
      return json(body)
    }
    case 'otlp': {
      const { organizationId, data } = message.data
      const { webhookId } = (data ?? {}) as Record<string, unknown>
      const ids = { 'muster.organization.id': textOf(organizationId), 'muster.webhook.id': textOf(webhookId) }
      return prepareLogs(target, [testLogs(title, ids, new Date(message.timestamp))])
    }
  }
}

/** Makes the request of an export for log records: OTLP/HTTP in its JSON encoding. `credential` holds the headers. */
export function prepareLogs({ url, credential }: Target, logs: readonly ResourceLogs[]): Prepared {
  return {
    method: 'POST',
    url: logsUrl(url),
    headers: { ...headersOf(credential), 'content-type': 'application/json' },
    body: JSON.stringify({ resourceLogs: logs }),
    isSigned: false,
  }
}

/** Headers of an export out of its decrypted credential. */
export function headersOf(credential: string | undefined): Record<string, string> {
  return credential === undefined ? {} : (JSON.parse(credential) as Record<string, string>)
}

/** Title of a message: that of an alert, else its type and the name of what it is about. */
function titleOf({ type, data }: Sent): string {
  const details = (data.data ?? {}) as Record<string, unknown>
  const name = textOf(data.title) || textOf(details.name) || textOf(details.title)
  return shortened(textOf(data.title) || (name ? `${type}: ${name}` : type))
}

function factsOf({ data }: Sent): [name: string, value: string][] {
  return Object.entries((data.data ?? {}) as Record<string, unknown>)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, MAX_FACTS)
    .map(([name, value]) => [name, shortened(String(value))])
}

/** Page of the console about a message. */
function linkOf({ data }: Sent, publicUrl: string): string {
  const [organizationId, projectId, deviceId] = [data.organizationId, data.projectId, data.deviceId].map(
    textOf,
  )
  if (/^https?:/.test(textOf(data.link))) return textOf(data.link)
  if (!organizationId) return publicUrl
  const project = `${publicUrl}/${organizationId}/projects/${projectId}`
  if (projectId && deviceId) return `${project}/devices/${deviceId}`
  return projectId ? `${project}/log` : `${publicUrl}/${organizationId}/settings/log`
}

/**
 * Replaces `{{path.to.value}}` in the texts of a parsed template. Values are put into texts after parsing, so that no value can change the
 * structure of the JSON.
 */
function filled(template: unknown, values: Record<string, unknown>): unknown {
  if (typeof template === 'string')
    return template.replace(/\{\{\s*([\w.]{1,200})\s*\}\}/g, (_, path: string) => {
      let value: unknown = values
      for (const part of path.split('.'))
        value =
          typeof value === 'object' && value !== null && Object.hasOwn(value, part)
            ? (value as Record<string, unknown>)[part]
            : undefined
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
    })
  if (Array.isArray(template)) return template.map(one => filled(one, values))
  if (typeof template !== 'object' || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filled(value, values)]))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function shortened(text: string): string {
  return [...text].length > MAX_TEXT ? `${[...text].slice(0, MAX_TEXT).join('')}…` : text
}

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]()~#|<>]/g, '\\$&')
}

/** Address that people see: without what may be secret. Addresses of chats are secrets but for their host. */
export function shownAddress(url: string, format: Format): string {
  const { origin, pathname, search } = new URL(url)
  if (format === 'slack' || format === 'teams') return `${origin}/…`
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

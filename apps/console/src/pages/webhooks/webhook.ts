import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { Ban, Check, OctagonAlert, Pause } from 'lucide-react'
import { counted, formatMs } from '../../lib/app/format.ts'
import { lookUp } from '../../lib/app/look-up.ts'
import type { StateLook } from '../../ui/lazy/StateBadge.tsx'

/** A webhook in the list. */
export type Webhook = ActionOutput<'webhooks_Query'>['webhooks'][number]
/** A webhook with its state, as its page shows it. */
export type WebhookDetails = ActionOutput<'webhooks_GetDetails'>
/** An attempt to deliver a message. */
export type Attempt = ActionOutput<'webhooks_QueryAttempts'>['attempts'][number]
/** Answer of a receiver to an attempt or a test message. */
export type Answer = Pick<Attempt, 'isSuccess' | 'status' | 'error' | 'answer' | 'tookMs'>
/** Form in which a webhook sends messages, as answers have it. */
type Format = Webhook['format']
/** Format that a person can choose. The export of events of a project is set in the settings of the project. */
export type ChosenFormat = ActionInput<'webhooks_Create'>['format']

/** Tone and icon of each state of a webhook. A webhook that is off by choice is no failure. */
export const WEBHOOK_LOOKS: Record<Webhook['state'], StateLook> = {
  Delivering: { tone: 'ok', icon: Check },
  Failing: { tone: 'bad', icon: OctagonAlert },
  Held: { tone: 'warn', icon: Pause },
  Off: { tone: 'neutral', icon: Ban },
}

/** Texts and rules of a format, for forms and pages. */
export type FormatWords = {
  label: string
  /** Help text of the address field. */
  address: string
  /** Label of the secret with which the hub signs in at the receiver. */
  credential?: string
  /** Whether the receiver always needs the secret. */
  needsCredential?: boolean
  /** Whether messages are signed, so that the receiver needs the signing secret. */
  isSigned?: boolean
}

/** Words for each format, in the order in which forms offer them. */
export const FORMATS: Record<ChosenFormat, FormatWords> = {
  standard: {
    label: 'Standard Webhooks',
    address: 'An address of your program, which begins with https://.',
    isSigned: true,
  },
  slack: { label: 'Slack', address: 'The address of an incoming webhook. It is a secret.' },
  teams: {
    label: 'Microsoft Teams',
    address: 'The address of a workflow “When a Teams webhook request is received”. It is a secret.',
  },
  matrix: {
    label: 'Matrix',
    address: 'The address of the homeserver.',
    credential: 'Access token',
    needsCredential: true,
  },
  ntfy: {
    label: 'ntfy',
    address: 'The address of the topic, such as https://ntfy.example/duty.',
    credential: 'Access token',
  },
  pagerduty: {
    label: 'PagerDuty',
    address: 'For example https://events.pagerduty.com/v2/enqueue.',
    credential: 'Routing key',
    needsCredential: true,
  },
  custom: {
    label: 'Custom JSON',
    address: 'An address of your program, which begins with https://.',
    credential: 'Value of the header Authorization',
    isSigned: true,
  },
}

const ALL_FORMATS: Record<Format, FormatWords> = {
  ...FORMATS,
  otlp: { label: 'OpenTelemetry (OTLP)', address: '' },
}

/** Words for a format, also for one that this console does not know. */
export function formatWords(format: string): FormatWords {
  return lookUp<FormatWords>(ALL_FORMATS, format, { label: format, address: '', isSigned: true })
}

/** Reasons of the HTTP statuses that receivers often answer. */
const REASONS: Record<string, string> = {
  200: 'OK',
  202: 'Accepted',
  204: 'No Content',
  301: 'Moved Permanently',
  302: 'Found',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  410: 'Gone',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** Short text of an answer: "502 Bad Gateway", "No answer within 15 s". */
export function answerWords({ status, error }: Answer): string {
  if (status === undefined) return error?.replace(/\.$/, '') ?? 'No answer'
  return `${status} ${lookUp(REASONS, String(status), '')}`.trimEnd()
}

/** How the receiver took a test message: "The receiver answered 200 OK after 0.2 s." */
export function testSentence(test: Answer): string {
  return test.status === undefined
    ? `There was no answer to the test message: ${answerWords(test)}.`
    : `The receiver answered the test message with ${answerWords(test)} after ${formatMs(test.tookMs)}.`
}

/** The settings of a webhook as `webhooks_Set` takes them, which replaces all of them. */
export function settingsOf({ webhookId, name, room, template, types }: Webhook) {
  return { webhookId, name, room, template, types }
}

/** Whether a webhook is the export of the events of a project. Its address and headers are settings of the project. */
export function isExport({ format }: Pick<Webhook, 'format'>): boolean {
  return format === 'otlp'
}

/** Noun for what waits for a webhook: an export counts events of devices. */
export function nounOf(webhook: Pick<Webhook, 'format'>): 'event' | 'message' {
  return isExport(webhook) ? 'event' : 'message'
}

/** Sentence with the number of waiting messages or events: "6 messages wait." */
export function waitText({ waitingCount, format }: Pick<Webhook, 'waitingCount' | 'format'>): string {
  const noun = nounOf({ format })
  if (waitingCount === 0) return `No ${noun} waits.`
  return `${counted(waitingCount, noun)} ${waitingCount === 1 ? 'waits' : 'wait'}.`
}

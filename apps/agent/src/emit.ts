import { MAX_EVENT_BYTES, newDatedId } from '@muster/actions/client'
import { RemoteActionError } from '@muster/link'
import type { AgentConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import { withDeadline } from './deadline.ts'
import { describeError } from './describe-error.ts'
import { type DeviceEventText, EventQueue } from './event-queue.ts'
import { type JsonText, jsonObject, jsonTextOf } from './json-text.ts'
import type { Log } from './log.ts'
import { publishEvents, runOneShot } from './one-shot.ts'
import { QueueSender } from './queued-events.ts'
import { adviceOn, HubRefusedError } from './refusal.ts'
import { NotADeviceError, type Session } from './session.ts'

/** Severities as spelt on the command line, from least to most severe (docs/protocol.md 4.6). */
export const SEVERITIES = ['trace', 'debug', 'info', 'warning', 'error', 'critical'] as const

export type EventOptions = {
  severity: (typeof SEVERITIES)[number]
  category: string | undefined
  attributes: Record<string, JsonText>
  /** Time in RFC 3339 format. Undefined means the current time. */
  emittedAt: string | undefined
}

/**
 * Timeout of the connection and the identification together while events wait in the queue. A queued event means that the hub failed
 * recently, so scripts should not wait for long again.
 */
const QUEUED_CONNECT_TIMEOUT_MS = 15_000
/** Time for sending events of the queue before the own event joins them. */
const QUEUE_SEND_TIMEOUT_MS = 10_000

/**
 * Uploads one event, after those that wait in the queue. If the hub cannot be reached or cannot take the event at the moment, or if one
 * batch does not empty the queue, puts the event into the queue. Resolves to JSON with the event's id, and with `"queued":true` for an
 * event in the queue. Rejects for an event or a device that the hub refuses.
 */
export async function emitEvent(
  config: AgentConfig,
  body: JsonText,
  options: EventOptions,
  { signal, log }: { signal: AbortSignal; log: Log },
): Promise<string> {
  const event = eventOf(body, options)
  const eventId = jsonTextOf(event.eventId)
  const bytes = eventBytes(body, options)
  const queued = jsonObject({ eventId, queued: jsonTextOf(true) })
  const queue = new EventQueue(config.dataDir, config.hubUrl, config.eventQueue)
  const isWaiting = await hasEvents(queue, log)
  try {
    return await runOneShot(
      config,
      async session => {
        const reason = isWaiting ? await reasonToWait(session, new QueueSender(queue, log)) : undefined
        signal.throwIfAborted()
        if (reason !== undefined) {
          try {
            await keep(queue, event, bytes, { reason, log })
            return queued
          } catch (error) {
            // The order matters less than the event.
            log.warn(describeError(error))
          }
        }
        await publishEvents(session, [event])
        return jsonObject({ eventId })
      },
      signal,
      isWaiting ? QUEUED_CONNECT_TIMEOUT_MS : undefined,
    )
  } catch (error) {
    if (signal.aborted || isFinal(error)) throw error
    await keep(queue, event, bytes, { reason: adviceOn(error), log })
    return queued
  }
}

/** Sends one batch of the queue. Resolves to the reason why the own event must wait behind others, or to undefined if none are left. */
async function reasonToWait(session: Session, sender: QueueSender): Promise<string | undefined> {
  try {
    const isEmpty = await withDeadline(sender.send(session, 1), QUEUE_SEND_TIMEOUT_MS, 'sending the queue')
    return isEmpty ? undefined : 'older events are still in the queue'
  } catch (error) {
    return `queued events not sent: ${describeError(error)}`
  }
}

async function keep(
  queue: EventQueue,
  event: DeviceEventText,
  bytes: number,
  { reason, log }: { reason: string; log: Log },
): Promise<void> {
  // The hub would refuse such an event later, when its sender no longer looks.
  if (bytes > MAX_EVENT_BYTES)
    throw new Error(`found ${bytes} bytes of body and attributes, expected at most ${MAX_EVENT_BYTES}`)
  try {
    const dropped = await queue.add(event, error =>
      log.warn(`the queue is larger than its bounds: ${describeError(error)}`),
    )
    if (dropped > 0) log.warn(`the queue is full; its oldest events were dropped: ${dropped}`)
  } catch (cause) {
    throw new Error(`event not sent (${reason}) and not queued in ${queue.folder}: ${describeError(cause)}`, {
      cause,
    })
  }
  log.warn(`${reason}; the event is in the queue and will be sent later`)
}

/** True for errors that a later attempt would not change. */
function isFinal(error: unknown): boolean {
  if (error instanceof RemoteActionError) return !error.shouldRetry()
  if (error instanceof HubRefusedError) return error.status === 401 || error.status === 403
  return error instanceof ConfigError || error instanceof NotADeviceError
}

/** A queue that cannot be read must not stop events that the hub takes. */
async function hasEvents(queue: EventQueue, log: Log): Promise<boolean> {
  try {
    return (await queue.entries()).length > 0
  } catch (error) {
    log.warn(`queue of events not read: ${describeError(error)}`)
    return false
  }
}

function eventOf(
  body: JsonText,
  { severity, category, attributes, emittedAt }: EventOptions,
): DeviceEventText {
  const now = new Date()
  const eventId = newDatedId('d_ev', now)
  const json = jsonObject({
    eventId: jsonTextOf(eventId),
    category: category === undefined ? undefined : jsonTextOf(category),
    severity: jsonTextOf(severity.charAt(0).toUpperCase() + severity.slice(1)),
    body,
    attributes: jsonObject(attributes),
    emittedAt: jsonTextOf(emittedAt ?? now.toISOString()),
  })
  return { eventId, json }
}

/** Size of an event as the hub counts it, in the JSON that `JSON.stringify` writes. */
function eventBytes(body: JsonText, { attributes }: EventOptions): number {
  const sizeOf = (json: JsonText) => Buffer.byteLength(JSON.stringify(JSON.parse(json)))
  return sizeOf(body) + sizeOf(jsonObject(attributes))
}

import { setTimeout as sleep } from 'node:timers/promises'
import { FairLimiter } from '@muster/concurrency'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { isConnectionError } from '../../platform/database/client/errors.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import { type CommandParts, commandTransaction } from '../../platform/pipeline/command-transaction.ts'
import type { SecretBox } from '../../platform/storage/secret-box.ts'
import { OFF_AFTER_DAYS, PROBE_AFTER, pauseAfter } from './delivery-state.ts'
import { readExport } from './exports.ts'
import { MESSAGE_COLUMNS, type MessageRow, messageOf } from './messages.ts'
import { rejectedCount } from './otlp.ts'
import type { Outcome, Sender } from './sender.ts'
import { type OpenTarget, openTarget, readWebhook } from './webhook-rows.ts'

/** Interval in milliseconds at which a node looks for webhooks that are due. */
const EVERY_MS = 1_000
/** Webhooks that a node serves at once. */
const MAX_WEBHOOKS = 256
/** Requests in flight of a node, of an organization and of a webhook. */
const MAX_REQUESTS = 32
const MAX_OF_ORGANIZATION = 8
const MAX_OF_WEBHOOK = 4
/** Share of the free requests that an organization may take, so that a few with receivers that hang never use up all. */
const MAX_SHARE_OF_FREE = 0.5
/** Messages that are read at once. */
const PAGE = 50
/** Time in milliseconds for which a webhook is served before others have their turn. */
const TURN_MS = 25_000
/** Time in seconds after which another node takes a webhook over whose node has died, and the interval in milliseconds of renewals. */
const CLAIM_SECS = 30
const RENEW_MS = 10_000
/** Administrators that are mailed when a webhook is turned off. */
const MAX_MAILS = 20

/** Answers of a collector by which a batch is bad and not to be sent again: neither its address nor its headers are to blame. */
const BAD_BATCH = new Set([400, 413, 422])

type Waiting = MessageRow & { tries: number; attempts: number; kept_type: string; items: number }
/** A webhook as a turn has read it. */
type Served = { webhookId: string; organizationId: string; failures: number; target: OpenTarget | undefined }
/**
 * Result of an attempt. `isOver` means that further attempts are of no use, `isUnsent` that the receiver had no part in it. `lost` counts
 * events that the collector will never have.
 */
type Attempted = Outcome & { isOver?: boolean; isUnsent?: boolean; lost?: number }
type Off = 'Gone' | 'NoSuccess'

type DelivererOptions = CommandParts & { sender: Sender; secretBox: SecretBox; nodeId: string }

/**
 * Delivers messages to webhooks. A node claims a webhook that is due for 30 s and renews the claim, so each webhook is served by one node at a
 * time, and by another one after a `kill -9`. The result of an attempt is stored with one statement after the answer. A node that dies
 * before that repeats the attempt with the same message id.
 */
export class Deliverer implements AsyncDisposable {
  readonly #options: DelivererOptions
  readonly #db: Db
  readonly #requests = new FairLimiter({
    max: MAX_REQUESTS,
    maxPerOwner: MAX_OF_ORGANIZATION,
    maxShareOfFree: MAX_SHARE_OF_FREE,
  })
  readonly #running = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined
  #claiming: Promise<void> | undefined
  #isDue = false

  constructor(options: DelivererOptions) {
    this.#options = options
    this.#db = options.db
  }

  /** Begins to deliver. */
  start(): void {
    this.#timer = setInterval(() => this.wake(), EVERY_MS)
    this.#renewal = setInterval(() => void this.#renew(), RENEW_MS)
  }

  /** Looks for webhooks that are due now. */
  wake(): void {
    if (this.#stop.signal.aborted) return
    this.#isDue = true
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined
    })
  }

  async #claim(): Promise<void> {
    while (this.#isDue && !this.#stop.signal.aborted) {
      this.#isDue = false
      const free = MAX_WEBHOOKS - this.#running.size
      if (free <= 0) return
      try {
        // `due_at` is cleared, and set again by whatever comes meanwhile. So the end of the turn cannot hide a new message.
        const { rows } = await sql<{ webhookId: string }>`
          update webhook_queue q set claimed_by = ${this.#options.nodeId}, due_at = null,
                 claimed_until = now() + make_interval(secs => ${CLAIM_SECS})
            from (select webhook_id from webhook_queue
                   where (due_at <= now() and (claimed_until is null or claimed_until < now()) or claimed_until < now()) and held_at is null
                   order by due_at limit ${free} for update skip locked) d
           where q.webhook_id = d.webhook_id returning q.webhook_id as "webhookId"`.execute(this.#db)
        for (const { webhookId } of rows) {
          const served = this.#serve(webhookId).finally(() => {
            // Given back, the webhook may be served again before this runs.
            if (this.#running.get(webhookId) === served) this.#running.delete(webhookId)
            if (!this.#stop.signal.aborted) this.wake()
          })
          this.#running.set(webhookId, served)
        }
      } catch (error) {
        this.#warn(error, 'webhooks that are due were not found')
        return
      }
    }
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return
    await sql`
      update webhook_queue set claimed_until = now() + make_interval(secs => ${CLAIM_SECS})
       where webhook_id = any (${[...this.#running.keys()]}) and claimed_by = ${this.#options.nodeId}`
      .execute(this.#db)
      .catch(error => this.#warn(error, 'claims of webhooks were not renewed'))
  }

  /** Serves a webhook for a turn, and gives it back. */
  async #serve(webhookId: string): Promise<void> {
    try {
      await this.#turn(webhookId)
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#warn(error, 'a webhook was not served')
        await sleep(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => {})
      }
    }
    // If this fails, the claim runs out.
    await this.#giveBack(webhookId).catch(error => this.#warn(error, 'a webhook was not given back'))
  }

  async #turn(webhookId: string): Promise<void> {
    const untilMs = performance.now() + TURN_MS
    while (performance.now() < untilMs) {
      this.#stop.signal.throwIfAborted()
      const webhook = await readWebhook(this.#db, webhookId)
      if (!webhook?.is_enabled || webhook.held_at !== null) return
      const served: Served = {
        webhookId,
        organizationId: webhook.organization_id,
        failures: webhook.failures,
        target: openTarget(this.#options.secretBox, webhook),
      }
      const page = await this.#readPage(webhookId, webhook.failures >= PROBE_AFTER)
      if (page.length === 0) return
      const queue = page.values()
      let mayGoOn = true
      const work = async (): Promise<void> => {
        for (const waiting of queue) {
          if (!mayGoOn || this.#stop.signal.aborted) return
          const { failures, off } = await this.#attempt(served, waiting)
          // After the fifth failure in a row, the other messages keep their attempts.
          if (failures >= PROBE_AFTER) mayGoOn = false
          if (off) {
            mayGoOn = false
            await this.#turnOff(webhookId, off)
          }
        }
      }
      const results = await Promise.allSettled(Array.from({ length: MAX_OF_WEBHOOK }, work))
      this.#options.live.changed({ topic: 'webhooks', organizationId: webhook.organization_id })
      const failed = results.find(({ status }) => status === 'rejected')
      if (failed) throw (failed as PromiseRejectedResult).reason
    }
  }

  /** Reads messages that are due. A webhook that fails has only its oldest message tried. */
  async #readPage(webhookId: string, isProbing: boolean): Promise<Waiting[]> {
    const found = isProbing
      ? sql`select * from (select * from webhook_delivery where webhook_id = ${webhookId} and state = 'Waiting'
             order by position limit 1) oldest where due_at <= now()`
      : sql`select * from webhook_delivery where webhook_id = ${webhookId} and state = 'Waiting' and due_at <= now()
             order by due_at, position limit ${PAGE}`
    const { rows } = await sql<Waiting>`
      select ${MESSAGE_COLUMNS}, d.message_id, d.tries, d.attempts, d.items, d.type as kept_type
        from (${found}) d left join outbox o on o.created_at = d.created_at and o.message_id = d.message_id
       order by d.due_at, d.position`.execute(this.#db)
    return rows
  }

  async #attempt(served: Served, waiting: Waiting): Promise<{ failures: number; off?: Off }> {
    const { message_id: messageId, items } = waiting
    const { webhookId, organizationId: owner } = served
    const { signal } = this.#stop
    const at = new Date()
    const outcome = await this.#requests.run(() => this.#send(served, waiting), { owner, signal })
    const pause =
      outcome.isSuccess || outcome.isOver ? undefined : pauseAfter(waiting.tries + 1, outcome.retryAfterSecs)
    const state = outcome.isSuccess ? 'Delivered' : pause === undefined ? 'Failed' : 'Waiting'
    // Keys of events are needed as long as they may be sent again.
    const isForgotten = served.target?.format === 'otlp' && outcome.isSuccess
    const lost = outcome.lost ?? (served.target?.format === 'otlp' && state === 'Failed' ? items : 0)
    const { rows } = await sql<{ failures: number; isOver: boolean }>`
      with attempt as (
        insert into webhook_attempt (webhook_id, message_id, attempt, type, attempted_at, took_ms, status, error, answer)
        values (${webhookId}, ${messageId}, ${waiting.attempts + 1}, ${waiting.kept_type}, ${at}, ${outcome.tookMs},
                ${outcome.status ?? null}, ${outcome.error ?? null}, ${outcome.answer ?? null})
        on conflict do nothing),
      delivery as (
        update webhook_delivery set state = ${state}, tries = tries + 1, attempts = attempts + 1,
               due_at = now() + make_interval(secs => ${pause ?? 0})
         where webhook_id = ${webhookId} and message_id = ${messageId} and state = 'Waiting' and attempts = ${waiting.attempts}
        returning items),
      forgotten as (delete from event_export where ${isForgotten} and message_id = ${messageId})
      update webhook_queue set last_attempt_at = now(),
             waiting = waiting - (case when ${state !== 'Waiting'} then (select coalesce(sum(items), 0)::int from delivery) else 0 end),
             dropped = dropped + (case when exists (select from delivery) then ${lost}::int else 0 end),
             failures = case when ${outcome.isSuccess} then 0 when ${outcome.isUnsent ?? false} then failures else failures + 1 end,
             failing_since = case when ${outcome.isSuccess} then null when ${outcome.isUnsent ?? false} then failing_since
                                  else coalesce(failing_since, now()) end,
             last_success_at = case when ${outcome.isSuccess} then now() else last_success_at end
       where webhook_id = ${webhookId}
      returning failures, coalesce(failing_since < now() - make_interval(days => ${OFF_AFTER_DAYS}), false) as "isOver"`.execute(
      this.#db,
    )
    const [stored] = rows
    if (!stored) return { failures: PROBE_AFTER }
    const off = outcome.status === 410 ? 'Gone' : stored.isOver ? 'NoSuccess' : undefined
    return { failures: stored.failures, ...(off && { off }) }
  }

  /** Sends a message once. */
  async #send({ target, failures }: Served, waiting: Waiting): Promise<Attempted> {
    const { signal } = this.#stop
    const failed = (error: string): Attempted => ({ isSuccess: false, error, tookMs: 0 })
    if (target === undefined) return failed('The address cannot be read with the instance key: set it again.')
    if (target.format !== 'otlp') {
      if (waiting.organization_id === null)
        return { ...failed('The message is older than 30 days and no longer kept.'), isOver: true }
      return this.#options.sender.send(target, target.secrets, messageOf(waiting), signal)
    }
    const { logs, eventCount } = await readExport(this.#db, waiting.message_id)
    if (eventCount === 0) return { ...failed('The events are no longer kept.'), isOver: true, isUnsent: true }
    const outcome = await this.#options.sender.sendLogs(target, logs, signal)
    if (outcome.isSuccess)
      return { ...outcome, lost: waiting.items - eventCount + rejectedCount(outcome.answer ?? '') }
    // A collector that refuses everything is wrong itself. So while it fails, a message has a second attempt after a pause.
    const isBad = BAD_BATCH.has(outcome.status ?? 0) && (failures < PROBE_AFTER || waiting.tries > 0)
    return { ...outcome, isOver: isBad }
  }

  /** Turns a webhook off, and mails the administrators of its organization. Its messages wait until somebody turns it on. */
  async #turnOff(webhookId: string, reason: Off): Promise<void> {
    const webhook = await readWebhook(this.#db, webhookId)
    if (!webhook) return
    const { organization_id: organizationId, name } = webhook
    await commandTransaction(
      async ({ tx, events, changed, enqueue }) => {
        const turned = await tx
          .updateTable('webhook')
          .set({ is_enabled: false, off_reason: reason })
          .where('webhook_id', '=', webhookId)
          .where('is_enabled', '=', true)
          .returning('webhook_id')
          .execute()
        if (turned.length === 0) return
        await events.emit('webhooks_TurnedOff', { organizationId, webhookId, name, reason })
        const admins = await tx
          .selectFrom('organization_member')
          .where('organization_id', '=', organizationId)
          .where('is_admin', '=', true)
          .select('user_id')
          .orderBy('user_id')
          .limit(MAX_MAILS)
          .execute()
        for (const { user_id: userId } of admins)
          await enqueue('webhooks_SendOffEmail', { webhookId, userId })
        changed('webhooks')
      },
      {
        caller: SYSTEM,
        scope: { organizationId, ...(webhook.project_id !== null && { projectId: webhook.project_id }) },
      },
      this.#options,
    )
  }

  async #giveBack(webhookId: string): Promise<void> {
    // `least` ignores nulls, and sees a time that the dispatcher has set since the claim. All is one statement, because this node may claim
    // the webhook again at once.
    await sql`
      update webhook_queue q set claimed_by = null, claimed_until = null,
             due_at = case
               when not exists (select from webhook w where w.webhook_id = q.webhook_id and w.is_enabled) then null
               when q.failures >= ${PROBE_AFTER} then least(q.due_at, (
                 select d.due_at from webhook_delivery d where d.webhook_id = q.webhook_id and d.state = 'Waiting' order by d.position limit 1))
               else least(q.due_at, (
                 select d.due_at from webhook_delivery d where d.webhook_id = q.webhook_id and d.state = 'Waiting' order by d.due_at limit 1))
             end
       where q.webhook_id = ${webhookId} and q.claimed_by = ${this.#options.nodeId}`.execute(this.#db)
  }

  #warn(error: unknown, text: string): void {
    if (!isConnectionError(error) && !this.#stop.signal.aborted) this.#options.log.warn({ err: error }, text)
  }

  /** Ends all requests and gives the webhooks back, so that another node serves them at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    clearInterval(this.#renewal)
    this.#stop.abort(new Error('The hub stops.'))
    await this.#claiming
    await Promise.allSettled(this.#running.values())
  }
}

import { ActionError, type ActionOutput, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { requireRoom } from '../../platform/limits/require-room.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { AddressRefused } from '../../platform/storage/guarded-http-client.ts'
import type { SecretBox } from '../../platform/storage/secret-box.ts'
import { OFF_AFTER_DAYS } from './delivery-state.ts'
import { type Format, shownAddress, type Target } from './formats.ts'
import { newSigningSecret } from './signature.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Query for webhooks with their state. */
export function webhookRows(db: Db) {
  return db
    .selectFrom('webhook as w')
    .innerJoin('webhook_queue as q', 'q.webhook_id', 'w.webhook_id')
    .select([
      'w.webhook_id',
      'w.organization_id',
      'w.project_id',
      'w.name',
      'w.format',
      'w.address',
      'w.shown_address',
      'w.credential',
      'w.room',
      'w.template',
      'w.types',
      'w.secret',
      'w.former_secret',
      'w.former_until',
      'w.is_enabled',
      'w.off_reason',
      'w.created_at',
      'w.changed_at',
      'q.due_at',
      'q.held_at',
      'q.failures',
      'q.failing_since',
      'q.last_attempt_at',
      'q.last_success_at',
      'q.waiting',
      'q.dropped',
    ])
}

/** A webhook with its state, as it is stored. */
export type WebhookRow = Awaited<ReturnType<ReturnType<typeof webhookRows>['execute']>>[number]

/** Reads a webhook with its state; undefined if it was deleted. */
export function readWebhook(db: Db, webhookId: string): Promise<WebhookRow | undefined> {
  return webhookRows(db).where('w.webhook_id', '=', webhookId).executeTakeFirst()
}

/** Reads a webhook and locks it for a change. The permission check has found it, so it is absent only if it was deleted since. */
export async function lockWebhook(tx: Tx, webhookId: string): Promise<WebhookRow> {
  const row = await webhookRows(tx)
    .where('w.webhook_id', '=', webhookId)
    .forNoKeyUpdate('w')
    .executeTakeFirst()
  if (!row) throw new ActionError('Invalid', 'The webhook was deleted.', { status: 409 })
  return row
}

/** A webhook as answers have it. */
export function webhookOf(
  row: WebhookRow,
): Omit<ActionOutput<'webhooks_GetDetails'>, 'attemptCount' | 'successCount'> {
  const isFailing = row.failing_since !== null
  const time = (date: Date | null) => (date === null ? undefined : wireTime(date))
  const isOn = row.is_enabled && row.held_at === null
  return {
    webhookId: row.webhook_id as never,
    organizationId: row.organization_id as never,
    projectId: (row.project_id ?? undefined) as never,
    name: row.name,
    format: row.format as Format,
    address: row.shown_address,
    room: row.room ?? undefined,
    template: row.template ?? undefined,
    // An export has an empty list, because it gets no messages of the outbox.
    types: row.format === 'otlp' ? undefined : (row.types ?? undefined),
    state: !row.is_enabled ? 'Off' : row.held_at !== null ? 'Held' : isFailing ? 'Failing' : 'Delivering',
    offReason: (row.off_reason ?? undefined) as never,
    waitingCount: row.waiting,
    droppedCount: row.dropped,
    failingSince: time(row.failing_since),
    turnsOffAt:
      isOn && row.failing_since !== null
        ? wireTime(new Date(row.failing_since.getTime() + OFF_AFTER_DAYS * DAY_MS))
        : undefined,
    nextAttemptAt: isOn ? time(row.due_at) : undefined,
    lastAttemptAt: time(row.last_attempt_at),
    lastSuccessAt: time(row.last_success_at),
    formerSignatureUntil:
      row.former_until && row.former_until > new Date() ? wireTime(row.former_until) : undefined,
    createdAt: wireTime(row.created_at),
    changedAt: wireTime(row.changed_at),
  }
}

/** A target with its secrets: the present one, and the former one while it signs too. */
export type OpenTarget = Target & { secrets: readonly string[] }

/** Decrypts a webhook. Undefined if the instance key is another one than when its parts were stored. */
export function openTarget(box: SecretBox, row: WebhookRow): OpenTarget | undefined {
  const open = (sealed: Buffer) => box.open(sealed, row.webhook_id)?.text
  const [url, secret] = [open(row.address), open(row.secret)]
  const credential = row.credential === null ? undefined : open(row.credential)
  if (url === undefined || secret === undefined || (row.credential !== null && credential === undefined))
    return undefined
  const isFormerValid =
    row.former_secret !== null && row.former_until !== null && row.former_until > new Date()
  const former = isFormerValid ? open(row.former_secret!) : undefined
  return {
    url,
    format: row.format as Format,
    credential,
    room: row.room ?? undefined,
    template: row.template ?? undefined,
    secrets: former === undefined ? [secret] : [secret, former],
  }
}

/** Encrypted columns of an address and its credential. */
export function sealedAddress(box: SecretBox, webhookId: string, { url, credential, format }: Target) {
  return {
    address: box.seal(url, webhookId),
    shown_address: shownAddress(url, format),
    credential: credential === undefined ? null : box.seal(credential, webhookId),
  }
}

/** Columns of the settings that people change. */
export function settingsOf(input: Pick<ParsedInput<'webhooks_Set'>, 'name' | 'room' | 'template' | 'types'>) {
  return {
    name: input.name,
    room: input.room ?? null,
    template: input.template ?? null,
    types: input.types ?? null,
  }
}

/** Throws `Invalid` with the path of a field that the format needs and that is missing. */
export function requireFields({ format, room, template, credential }: Omit<Target, 'url'>): void {
  const missing =
    (format === 'matrix' && room === undefined && 'room') ||
    (format === 'custom' && template === undefined && 'template') ||
    ((format === 'matrix' || format === 'pagerduty') && credential === undefined && 'credential')
  if (!missing) return
  const message = `The format ${format} needs the field ${missing}.`
  throw new ActionError('Invalid', message, { status: 400, issues: [{ path: missing, message }] })
}

/** The error of a person whose address the hub must not connect to; other errors of the look-up as they are. */
export function addressError(error: unknown, path = 'url', purpose = 'webhooks'): unknown {
  if (!(error instanceof AddressRefused)) return error
  const message = `Found an address that is private, reserved or of this hub, or plain HTTP: expected https:// and a public address. An administrator of the hub can allow it in MUSTER_OUTBOUND_ALLOW with \`${purpose}:\`.`
  return new ActionError('Invalid', message, { status: 409, issues: [{ path, message }], cause: error })
}

/** Throws `Invalid` if an organization has as many webhooks as it may have. The caller holds the lock of its reader. */
export async function requireWebhookRoom(
  tx: Tx,
  services: Parameters<typeof requireRoom>[0],
  organizationId: string,
): Promise<void> {
  const { count } = await tx
    .selectFrom('webhook')
    .where('organization_id', '=', organizationId)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const remedy = 'Delete a webhook that is not used.'
  requireRoom(services, 'organization-webhooks', { organizationId }, count, remedy)
}

/** Makes a signing secret, as text and encrypted for a webhook. */
export function makeSecret(box: SecretBox, webhookId: string): { signingSecret: string; sealed: Buffer } {
  const signingSecret = newSigningSecret()
  return { signingSecret, sealed: box.seal(signingSecret, webhookId) }
}

/** Makes the row of a webhook due now, so that a node serves it. */
export async function setDue(tx: Tx, webhookId: string): Promise<void> {
  await sql`update webhook_queue set due_at = now() where webhook_id = ${webhookId}`.execute(tx)
}

/** Encrypts what was stored with the previous instance key anew. Logs what neither key decrypts. */
export async function renewSecrets(db: Db, box: SecretBox, log: Logger): Promise<void> {
  const columns = ['address', 'credential', 'secret', 'former_secret'] as const
  const rows = await db
    .selectFrom('webhook')
    .select(['webhook_id', ...columns])
    .execute()
  for (const row of rows)
    for (const column of columns) {
      const sealed = row[column]
      if (sealed === null) continue
      const opened = box.open(sealed, row.webhook_id)
      if (!opened)
        log.error(
          { webhookId: row.webhook_id, column },
          'a secret of a webhook cannot be read with the instance key',
        )
      if (!opened?.isOld) continue
      await db
        .updateTable('webhook')
        .set({ [column]: box.seal(opened.text, row.webhook_id) })
        .where('webhook_id', '=', row.webhook_id)
        .where(column, '=', sealed)
        .execute()
    }
}

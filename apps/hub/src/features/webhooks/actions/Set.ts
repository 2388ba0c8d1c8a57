import { ActionError, newDatedId, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockReader } from '../feed.ts'
import type { Format, Target } from '../formats.ts'
import { farewellMessage } from '../special-messages.ts'
import {
  addressError,
  lockWebhook,
  openTarget,
  readWebhook,
  requireFields,
  sealedAddress,
  setDue,
  settingsOf,
} from '../webhook-rows.ts'

/** Time in milliseconds that the last message to a former address may take. */
const FAREWELL_MS = 5_000

/** Changes a webhook. A former address gets `webhook.deleted` before. */
export const webhooks_Set = handler('webhooks_Set', {
  prepare: async ({ db, services, signal }, input) => {
    const { webhookId, url, isOn } = input
    const { sender, secretBox } = services.webhookParts
    const before = await readWebhook(db, webhookId)
    if (!before) throw refusal()
    const format = before.format as Format
    if (format === 'otlp') refuseSettings(input)
    const opened = openTarget(secretBox, before)
    const target = changedTarget(input, format, opened)
    requireFields(target)
    if (url !== undefined) {
      await sender.check(target).catch(error => {
        throw addressError(error)
      })
      const about = { organizationId: before.organization_id, webhookId, name: before.name }
      if (opened && opened.url !== url && before.is_enabled && before.held_at === null)
        await sender.send(
          opened,
          opened.secrets,
          farewellMessage(about, newDatedId('msg')),
          signal,
          FAREWELL_MS,
        )
    }
    return async ({ tx, events, changed, afterCommit }) => {
      await lockReader(tx, before.organization_id)
      const row = await lockWebhook(tx, webhookId)
      await tx
        .updateTable('webhook')
        .set({
          ...settingsOf(input),
          ...(format === 'otlp' && { types: row.types }),
          ...((url !== undefined || input.credential !== undefined) &&
            sealedAddress(secretBox, webhookId, target)),
          is_enabled: isOn,
          off_reason: isOn ? null : row.off_reason,
          changed_at: sql`now()`,
        })
        .where('webhook_id', '=', webhookId)
        .execute()
      if (isOn && !row.is_enabled) {
        await sql`update webhook_queue set failures = 0, failing_since = null where webhook_id = ${webhookId}`.execute(
          tx,
        )
        await setDue(tx, webhookId)
      }
      const address = (await readWebhook(tx, webhookId))!.shown_address
      const { organization_id: organizationId } = row
      await events.emit(
        'webhooks_Changed',
        {
          organizationId,
          webhookId,
          name: input.name,
          address,
          ...(input.types && { types: input.types }),
          isOn,
        },
        {
          old: {
            name: row.name,
            address: row.shown_address,
            types: row.types ?? undefined,
            isOn: row.is_enabled,
          },
        },
      )
      changed('webhooks')
      afterCommit(() => {
        services.dispatcher.readersChanged()
        services.deliverer.wake()
        services.exporter.wake()
      })
      return {}
    }
  },
})

/** Throws `Invalid` for a setting of an export of events that another action sets. */
function refuseSettings(input: ParsedInput<'webhooks_Set'>): void {
  const fields = ['url', 'credential', 'room', 'template', 'types'] as const
  const path = fields.find(field => input[field] !== undefined)
  if (path === undefined) return
  const message = `Found the field ${path} for an export of events, expected only its name and whether it is on: projects_SetOtlpConfig sets the others.`
  throw new ActionError('Invalid', message, { status: 409, issues: [{ path, message }] })
}

/**
 * The target after a change. A stored credential stays only for the same host: otherwise a person could make the hub send it to any host.
 */
function changedTarget(
  {
    url,
    credential,
    room,
    template,
  }: {
    url?: string | undefined
    credential?: string | undefined
    room?: string | undefined
    template?: string | undefined
  },
  format: Format,
  opened: Target | undefined,
): Target {
  if (url === undefined && opened === undefined) {
    const message = 'The stored address cannot be read with the instance key: give it again.'
    throw new ActionError('Invalid', message, { status: 409, issues: [{ path: 'url', message }] })
  }
  const isSameHost =
    url === undefined || (opened !== undefined && new URL(url).host === new URL(opened.url).host)
  return {
    url: url ?? opened!.url,
    format,
    credential: credential ?? (isSameHost ? opened?.credential : undefined),
    room,
    template,
  }
}

import { ActionError, MASKED_HEADER, MAX_NAME_LENGTH, newId, type ParsedInput } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import type { SecretBox } from '../../../platform/storage/secret-box.ts'
import { exportConfig, exportRows } from '../exports.ts'
import { lockReader } from '../feed.ts'
import { headersOf } from '../formats.ts'
import {
  addressError,
  makeSecret,
  openTarget,
  requireWebhookRoom,
  sealedAddress,
  type WebhookRow,
} from '../webhook-rows.ts'

type Config = ParsedInput<'projects_SetOtlpConfig'>['config']

/** Sets where the events of a project are exported to. Without an endpoint, the export is deleted with what waits for it. */
export const projects_SetOtlpConfig = handler('projects_SetOtlpConfig', {
  prepare: async ({ db, services }, { projectId, config }) => {
    const { sender, secretBox } = services.webhookParts
    const { enabled, endpoint } = config
    if (enabled && endpoint === undefined)
      throw invalid('endpoint', 'Found no endpoint, expected one for an export that is on.', 400)
    if (endpoint !== undefined)
      await sender.check({ url: endpoint, format: 'otlp' }).catch(error => {
        throw addressError(error, 'config.endpoint', 'otlp')
      })
    const project = await db
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select(['organization_id', 'name'])
      .executeTakeFirst()
    if (!project) throw refusal()
    const { organization_id: organizationId } = project
    return async ({ tx, events, changed, afterCommit }) => {
      // The lock of the organization's reader orders the changes of its webhooks, also those of a project that has no export yet.
      await lockReader(tx, organizationId)
      const row = await exportRows(tx, projectId).forNoKeyUpdate('w').executeTakeFirst()
      const old = exportConfig(secretBox, row)
      if (endpoint === undefined) {
        if (row) await tx.deleteFrom('webhook').where('webhook_id', '=', row.webhook_id).execute()
      } else {
        const webhookId = row?.webhook_id ?? newId('wh')
        const credential = JSON.stringify(storedHeaders(secretBox, row, { ...config, endpoint }))
        const columns = {
          ...sealedAddress(secretBox, webhookId, { url: endpoint, format: 'otlp', credential }),
          is_enabled: enabled,
          off_reason: enabled ? null : (row?.off_reason ?? null),
          changed_at: sql<Date>`now()`,
        }
        if (row) await tx.updateTable('webhook').set(columns).where('webhook_id', '=', webhookId).execute()
        else {
          await requireWebhookRoom(tx, services, organizationId)
          await tx
            .insertInto('webhook')
            .values({
              webhook_id: webhookId,
              organization_id: organizationId,
              project_id: projectId,
              name: [...`OTLP of ${project.name}`].slice(0, MAX_NAME_LENGTH).join(''),
              format: 'otlp',
              types: [],
              secret: makeSecret(secretBox, webhookId).sealed,
              ...columns,
            })
            .execute()
          await tx.insertInto('webhook_queue').values({ webhook_id: webhookId }).execute()
        }
        // New settings may mend the failures, so the next attempt is due now.
        if (enabled)
          await sql`
            update webhook_queue set failures = 0, failing_since = null, due_at = now() where webhook_id = ${webhookId}`.execute(
            tx,
          )
      }
      const shown = ({ enabled: isOn, endpoint: to, headers }: typeof old) => ({
        enabled: isOn,
        ...(to !== undefined && { endpoint: to }),
        headerNames: Object.keys(headers),
      })
      await events.emit('projects_OtlpConfigChanged', { projectId, ...shown(config) }, { old: shown(old) })
      changed('webhooks')
      afterCommit(() => {
        services.exporter.wake()
        services.deliverer.wake()
      })
      return {}
    }
  },
})

/**
 * Headers with stored values for those that are masked. A stored value stays only for the same host: otherwise a person could make the hub send
 * it to any host.
 */
function storedHeaders(
  box: SecretBox,
  row: WebhookRow | undefined,
  { endpoint, headers }: Config & { endpoint: string },
): Record<string, string> {
  const opened = row && openTarget(box, row)
  const isSameHost = opened !== undefined && new URL(endpoint).host === new URL(opened.url).host
  const known = new Map(
    isSameHost
      ? Object.entries(headersOf(opened.credential)).map(([name, value]) => [name.toLowerCase(), value])
      : [],
  )
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (value !== MASKED_HEADER) return [name, value]
      const kept = known.get(name.toLowerCase())
      if (kept !== undefined) return [name, kept]
      throw invalid(
        `headers.${name}`,
        `Found a masked value for ${name}, which is not stored for this host: expected the value itself.`,
        409,
      )
    }),
  )
}

function invalid(field: string, message: string, status: 400 | 409): ActionError {
  return new ActionError('Invalid', message, { status, issues: [{ path: `config.${field}`, message }] })
}

import { randomBytes } from 'node:crypto'
import { newId } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import type { TestHub } from './test-hub.ts'

/** An audit row in the form used by tests. */
export type AuditRow = { action: string; actor: unknown; data: unknown; status: string }

/** Returns audit rows, oldest first. With `action`, returns only the rows of this action. */
export async function auditRows(hub: Pick<TestHub, 'db'>, action?: string): Promise<AuditRow[]> {
  let query = hub.db
    .selectFrom('audit_action')
    .select(['action', 'actor', 'data', 'status'])
    .orderBy('created_at')
    .orderBy('action_id')
  if (action !== undefined) query = query.where('action', '=', action)
  return query.execute()
}

/** An audit event in the form used by tests. */
export type EventRow = {
  event: string
  actor: unknown
  data: unknown
  action: string | null
  organizationId: string | null
  projectId: string | null
  deviceId: string | null
}

/** Returns audit events, oldest first, each with the action that caused it. With `event`, returns only events of this name. */
export async function auditEvents(hub: Pick<TestHub, 'db'>, event?: string): Promise<EventRow[]> {
  let query = hub.db
    .selectFrom('audit_event as e')
    .leftJoin('audit_action as a', 'a.action_id', 'e.action_id')
    .select([
      'e.event',
      'e.actor',
      'e.data',
      'a.action',
      'e.organization_id as organizationId',
      'e.project_id as projectId',
      'e.device_id as deviceId',
    ])
    .orderBy('e.created_at')
    .orderBy('e.event_id')
  if (event !== undefined) query = query.where('e.event', '=', event)
  return query.execute()
}

/** Empties the audit log, so that a test sees only later rows. */
export async function clearAudit(hub: Pick<TestHub, 'db'>): Promise<void> {
  await hub.db.deleteFrom('audit_event').execute()
  await hub.db.deleteFrom('audit_action').execute()
}

/** Inserts the row of an asset, uploaded (`Available`) by default. Stores no bytes. Returns the asset's id. */
export async function assetRow(
  hub: Pick<TestHub, 'db'>,
  repositoryId: string,
  {
    size = 7,
    ...values
  }: { size?: number; status?: 'Dangling' | 'Available' | 'Deleting'; createdAt?: Date } = {},
): Promise<string> {
  const assetId = newId('repo_a')
  const { createdAt, status = 'Available' } = values
  await hub.db
    .insertInto('asset')
    .values({
      asset_id: assetId,
      repository_id: repositoryId,
      size_bytes: size,
      digest: `sha256_${randomBytes(32).toString('hex')}`,
      status,
      ...(createdAt && { created_at: createdAt }),
    })
    .execute()
  return assetId
}

type DeviceValues = {
  name?: string | null
  hostname?: string | null
  health?: string | null
  firstSeen?: Date
  isConnected?: boolean
  pendingCertificates?: number
}

/** Inserts the row of a device without connecting a device, for tests of lists. Returns the device's id. */
export async function deviceRow(
  hub: Pick<TestHub, 'db'>,
  projectId: string,
  { firstSeen, isConnected = false, pendingCertificates = 0, ...values }: DeviceValues = {},
): Promise<string> {
  const deviceId = newId('d')
  await hub.db
    .insertInto('device')
    .values({
      device_id: deviceId,
      project_id: projectId,
      fingerprint_id: `d_pk_${deviceId.slice(2)}`,
      fingerprint_hash: randomBytes(32),
      is_connected: isConnected,
      pending_certificates: pendingCertificates,
      name_key: nameKey(values.name ?? values.hostname ?? ''),
      ...values,
      ...(firstSeen && { first_seen: firstSeen }),
    })
    .execute()
  return deviceId
}

/** Inserts the block of a deleted device. Returns its id. */
export async function blockRow(
  hub: Pick<TestHub, 'db'>,
  projectId: string,
  { name, blockedAt }: { name?: string; blockedAt?: Date } = {},
): Promise<string> {
  const blockId = newId('d_block')
  await hub.db
    .insertInto('device_block')
    .values({
      block_id: blockId,
      project_id: projectId,
      device_id: newId('d'),
      fingerprint_id: `d_pk_${blockId.slice('d_block_'.length)}`,
      fingerprint_hash: randomBytes(32),
      name: name ?? null,
      actor: JSON.stringify({ actor: 'System' }),
      ...(blockedAt && { blocked_at: blockedAt }),
    })
    .execute()
  return blockId
}

/** Inserts a saved view of the devices of a project; a shared one, unless it has an owner. Returns its id. */
export async function viewRow(
  hub: Pick<TestHub, 'db'>,
  projectId: string,
  { name = 'View', ownerId, createdAt }: { name?: string; ownerId?: string; createdAt?: Date } = {},
): Promise<string> {
  const viewId = newId('view')
  await hub.db
    .insertInto('device_view')
    .values({
      view_id: viewId,
      project_id: projectId,
      owner_id: ownerId ?? null,
      name,
      filter: '{}',
      is_shared: ownerId === undefined,
      is_in_row: false,
      ...(createdAt && { created_at: createdAt }),
    })
    .execute()
  return viewId
}

/** Inserts a webhook of an organization, which is off and whose receiver refuses connections. Returns its id. */
export async function webhookRow(
  { db, services: { secretBox } }: Pick<TestHub, 'db' | 'services'>,
  organizationId: string,
  { name = 'Webhook', createdAt }: { name?: string; createdAt?: Date } = {},
): Promise<string> {
  const webhookId = newId('wh')
  await db
    .insertInto('webhook')
    .values({
      webhook_id: webhookId,
      organization_id: organizationId,
      name,
      format: 'standard',
      address: secretBox.seal('http://127.0.0.1:9/hook', webhookId),
      shown_address: 'http://127.0.0.1:9/hook',
      secret: secretBox.seal('whsec_AAAA', webhookId),
      is_enabled: false,
      ...(createdAt && { created_at: createdAt }),
    })
    .execute()
  await db.insertInto('webhook_queue').values({ webhook_id: webhookId }).execute()
  return webhookId
}

/** Inserts a pending operation of a device, which sets the property `mode`. Returns its id. */
export async function operationRow(
  { db }: Pick<TestHub, 'db'>,
  deviceId: string,
  { name = 'Restart', createdAt }: { name?: string; createdAt?: Date } = {},
): Promise<string> {
  const operationId = newId('d_op')
  const { project_id } = await db
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('project_id')
    .executeTakeFirstOrThrow()
  const property = `mode.${operationId}`
  await db
    .insertInto('operation_definition')
    .values({
      definition_id: operationId,
      project_id,
      steps: JSON.stringify([{ kind: 'SetDeviceProperty', name: property, value: 1 }]),
      step_count: 1,
    })
    .execute()
  await db
    .insertInto('device_operation')
    .values({
      operation_id: operationId,
      device_id: deviceId,
      project_id,
      definition_id: operationId,
      name,
      created_by: JSON.stringify({ actor: 'System' }),
      step_count: 1,
      step_states: JSON.stringify([{ status: 'Pending' }]),
      writes: [property],
      ...(createdAt && { created_at: createdAt }),
    })
    .execute()
  return operationId
}

/** A unique random certificate fingerprint. */
export function randomFingerprint(): string {
  return (randomBytes(32).toString('hex').toUpperCase().match(/../g) ?? []).join(':')
}

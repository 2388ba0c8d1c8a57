import type { BulkActionKind, BulkReason, CertificateStatus } from '@muster/actions'
import { sql } from 'kysely'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import type { Origin } from '../../platform/audit/facts.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { changeCertificateStatus } from '../approvals/index.ts'
import { type DeviceFilter, deleteDevice, matchesFilter } from '../devices/index.ts'

/** Fields of the row of a started bulk action. */
export type BulkRun = {
  bulkActionId: string
  projectId: string
  kind: BulkActionKind
  sessionId: string
  filter: DeviceFilter | undefined
  actionId: string | undefined
  /** Origin of the request that started the bulk action. */
  origin: Origin
}

/** A device or certificate of a bulk action that was not processed yet. */
export type OpenItem = { position: number; deviceId: string; certificateId: string | undefined }

/** Context of `processItem`: its transaction, its caller, and functions that record audit events and register work for after the commit. */
export type ItemWork = Pick<CommandTransaction, 'tx' | 'events' | 'changed' | 'afterCommit'> & {
  caller: Caller
}

/** Result of an item. A skipped item has a reason and, where known, the actor and the time of the earlier decision or deletion. */
export type ItemResult = {
  outcome: 'Succeeded' | 'Skipped' | 'Failed'
  reason?: BulkReason
  actor?: unknown
  actedAt?: Date
}

type Past = { actor: unknown; at: Date }

const ALREADY: Record<Exclude<CertificateStatus, 'Pending'>, BulkReason> = {
  Active: 'AlreadyAccepted',
  Rejected: 'AlreadyRejected',
  Revoked: 'AlreadyRevoked',
}

/**
 * Accepts or rejects a certificate, or deletes a device, in the caller's transaction. Locks the device. If another decision or deletion was
 * committed before, the item is skipped. A later decision or deletion waits until this transaction ends.
 */
export async function processItem(
  work: ItemWork,
  devices: DeviceRegistry,
  run: BulkRun,
  item: OpenItem,
): Promise<ItemResult> {
  const { tx } = work
  const { projectId, kind } = run
  const { deviceId } = item
  const device = await tx
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .where('project_id', '=', projectId)
    .select('device_id')
    .forUpdate()
    .executeTakeFirst()
  if (!device) return skipped('DeviceDeleted', await deletionOf(tx, deviceId))
  if (kind === 'Delete') {
    if (!(await stillMatches(tx, run, deviceId))) return skipped('NoLongerMatches')
    await deleteDevice(work, devices, { deviceId, projectId })
    return { outcome: 'Succeeded' }
  }
  const certificateId = item.certificateId!
  const certificate = await tx
    .selectFrom('device_certificate')
    .where('certificate_id', '=', certificateId)
    .where('device_id', '=', deviceId)
    .select('status')
    .executeTakeFirst()
  if (!certificate)
    return skipped('CertificateDeleted', await changeOf(tx, deviceId, certificateId, 'Deleted'))
  const before = certificate.status as CertificateStatus
  if (before !== 'Pending')
    return skipped(ALREADY[before], await changeOf(tx, deviceId, certificateId, before))
  const status = kind === 'Accept' ? 'Active' : 'Rejected'
  await changeCertificateStatus(work, devices, { certificateId, deviceId, projectId }, status)
  return { outcome: 'Succeeded' }
}

function skipped(reason: BulkReason, past?: Past): ItemResult {
  return { outcome: 'Skipped', reason, ...(past && { actor: past.actor, actedAt: past.at }) }
}

async function stillMatches(tx: Tx, { filter, projectId }: BulkRun, deviceId: string): Promise<boolean> {
  const found = await tx
    .selectFrom('device as d')
    .where('d.device_id', '=', deviceId)
    .where(matchesFilter(filter, projectId))
    .select('d.device_id')
    .executeTakeFirst()
  return found !== undefined
}

/** Actor and time of a device's deletion, from the audit log. Undefined once the log no longer has the event. */
async function deletionOf(tx: Tx, deviceId: string): Promise<Past | undefined> {
  return tx
    .selectFrom('audit_event')
    .where('device_id', '=', deviceId)
    .where('event', '=', 'devices_Deleted')
    .select(['actor', 'created_at as at'])
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Actor and time of the change that last gave the certificate the given status. */
async function changeOf(
  tx: Tx,
  deviceId: string,
  certificateId: string,
  status: CertificateStatus | 'Deleted',
): Promise<Past | undefined> {
  return tx
    .selectFrom('device_certificate_change')
    .where('device_id', '=', deviceId)
    .where('certificate_id', '=', certificateId)
    .where('status', '=', status)
    .select(['actor', sql<Date>`changed_at`.as('at')])
    .orderBy('changed_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

import type { CertificateStatus } from '@muster/actions'
import { lockDevice, recordCertificateChange } from '../../link/gateway/device-certificates.ts'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { revokeSuccessors } from './successors.ts'

/** Allowed changes of a certificate's status, from each status (docs/specification.md, section 4). */
const NEXT: Record<CertificateStatus, readonly CertificateStatus[]> = {
  Pending: ['Active', 'Rejected'],
  Active: ['Revoked'],
  Rejected: [],
  Revoked: [],
}

type Certificate = { certificateId: string; deviceId: string; projectId: string }

/** Whether a certificate's status may change from one status to another. */
export function mayBecome(before: CertificateStatus, status: CertificateStatus): boolean {
  return NEXT[before].includes(status)
}

/**
 * Changes the status of a certificate and resolves to the previous status. Changes nothing if `mayBecome` forbids it. A certificate that is
 * no longer `Active` loses its connections after the commit, and with it those that the device announced with it are revoked, unless
 * `keepSuccessors` is set. Locks the device. Throws for a certificate that no longer exists.
 */
export async function changeCertificateStatus(
  context: Pick<CommandTransaction, 'tx' | 'events' | 'changed' | 'afterCommit'> & { caller: Caller },
  devices: DeviceRegistry,
  certificate: Certificate,
  status: CertificateStatus,
  keepSuccessors = false,
): Promise<CertificateStatus> {
  const { tx, caller, events, changed, afterCommit } = context
  const { certificateId, deviceId, projectId } = certificate
  await lockDevice(tx, deviceId)
  const { fingerprint, ...row } = await tx
    .selectFrom('device_certificate')
    .where('certificate_id', '=', certificateId)
    .select(['fingerprint', 'status'])
    .executeTakeFirstOrThrow()
  const before = row.status as CertificateStatus
  if (!mayBecome(before, status)) return before
  await tx
    .updateTable('device_certificate')
    .set({ status })
    .where('certificate_id', '=', certificateId)
    .execute()
  await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, status)
  await events.emit(
    'devices_CertificateStatusChanged',
    { projectId, deviceId, certificateId, status },
    { old: { status: before } },
  )
  if (before === 'Active') {
    afterCommit(() => devices.endRight({ certificateId }, `the certificate was ${status.toLowerCase()}`))
    if (!keepSuccessors) await revokeSuccessors(context, devices, certificate)
  }
  changed('certificates')
  changed('devices')
  return before
}

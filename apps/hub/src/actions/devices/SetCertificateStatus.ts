import { ActionError, type CertificateStatus } from '@muster/actions'
import { lockDevice, recordCertificateChange } from '../../database/queries/devices/device-certificates.ts'
import { handler } from '../../handler.ts'

/** Allowed changes of a certificate's status, from each status (docs/product.md, section 4). */
const NEXT: Record<CertificateStatus, readonly CertificateStatus[]> = {
  Pending: ['Active', 'Rejected'],
  Active: ['Revoked'],
  Rejected: [],
  Revoked: [],
}

/** Changes the status of a certificate. A certificate that is no longer `Active` loses its connections. */
export const devices_SetCertificateStatus = handler(
  'devices_SetCertificateStatus',
  async ({ tx, events, scope, caller, changed, afterCommit, services }, { certificateId, status }) => {
    const deviceId = scope.deviceId!
    await lockDevice(tx, deviceId)
    const { fingerprint, ...row } = await tx
      .selectFrom('device_certificate')
      .where('certificate_id', '=', certificateId)
      .select(['fingerprint', 'status'])
      .executeTakeFirstOrThrow()
    const before = row.status as CertificateStatus
    if (before === status) return {}
    if (!NEXT[before].includes(status)) {
      throw new ActionError('Invalid', `A certificate that is ${before} cannot become ${status}.`, {
        status: 409,
      })
    }
    await tx
      .updateTable('device_certificate')
      .set({ status })
      .where('certificate_id', '=', certificateId)
      .execute()
    await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, status)
    await events.emit(
      'devices_CertificateStatusChanged',
      { projectId: scope.projectId!, deviceId, certificateId, status },
      { old: { status: before } },
    )
    if (before === 'Active') {
      afterCommit(() =>
        services.devices.closeWhere({ certificateId }, `the certificate was ${status.toLowerCase()}`),
      )
    }
    changed('certificates')
    changed('devices')
    return {}
  },
)

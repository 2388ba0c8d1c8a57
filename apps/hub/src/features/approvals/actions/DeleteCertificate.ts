import { lockDevice, recordCertificateChange } from '../../../link/gateway/device-certificates.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { revokeSuccessors } from '../successors.ts'

/**
 * Deletes a certificate. For a rejected or revoked certificate a tombstone row is kept, so that the hub still refuses it. Deleting an
 * active certificate that has not expired takes the device's right away like revoking it, and so revokes its successors.
 */
export const devices_DeleteCertificate = handler(
  'devices_DeleteCertificate',
  async (context, { certificateId, keepSuccessors }) => {
    const { tx, events, scope, caller, changed, afterCommit, services } = context
    const deviceId = scope.deviceId!
    const projectId = scope.projectId!
    await lockDevice(tx, deviceId)
    const {
      fingerprint,
      status,
      expires_at: expiresAt,
      predecessor_id: predecessorId,
    } = await tx
      .deleteFrom('device_certificate')
      .where('certificate_id', '=', certificateId)
      .returning(['fingerprint', 'status', 'expires_at', 'predecessor_id'])
      .executeTakeFirstOrThrow()
    if (status === 'Rejected' || status === 'Revoked') {
      await tx
        .insertInto('device_certificate_tombstone')
        .values({ device_id: deviceId, fingerprint, status })
        .onConflict(conflict => conflict.doNothing())
        .execute()
    }
    await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, 'Deleted')
    await events.emit(
      'devices_CertificateDeleted',
      { projectId, deviceId, certificateId },
      { old: { status, fingerprint } },
    )
    const isValid = status === 'Active' && (expiresAt === null || expiresAt.getTime() > Date.now())
    if (isValid && !keepSuccessors)
      await revokeSuccessors(context, services.devices, { certificateId, deviceId, projectId })
    // The successors become those of its predecessor, so that revoking that one still reaches them.
    if (predecessorId !== null)
      await tx
        .updateTable('device_certificate')
        .set({ predecessor_id: predecessorId })
        .where('device_id', '=', deviceId)
        .where('predecessor_id', '=', certificateId)
        .execute()
    afterCommit(() => services.devices.endRight({ certificateId }, 'the certificate was deleted'))
    changed('certificates')
    changed('devices')
    return {}
  },
)

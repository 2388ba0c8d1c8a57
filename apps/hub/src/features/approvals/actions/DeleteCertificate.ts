import { lockDevice, recordCertificateChange } from '../../../link/gateway/device-certificates.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Deletes a certificate. For a rejected or revoked certificate a tombstone row is kept, so that the hub still refuses it. */
export const devices_DeleteCertificate = handler(
  'devices_DeleteCertificate',
  async ({ tx, events, scope, caller, changed, afterCommit, services }, { certificateId }) => {
    const deviceId = scope.deviceId!
    await lockDevice(tx, deviceId)
    const { fingerprint, status } = await tx
      .deleteFrom('device_certificate')
      .where('certificate_id', '=', certificateId)
      .returning(['fingerprint', 'status'])
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
      { projectId: scope.projectId!, deviceId, certificateId },
      { old: { status, fingerprint } },
    )
    afterCommit(() => services.devices.endRight({ certificateId }, 'the certificate was deleted'))
    changed('certificates')
    changed('devices')
    return {}
  },
)

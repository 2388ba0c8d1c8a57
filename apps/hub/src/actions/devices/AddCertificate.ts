import { ActionError } from '@muster/actions'
import { addCertificate, lockDevice } from '../../database/device-certificates.ts'
import { handler } from '../../handler.ts'

export const devices_AddCertificate = handler(
  'devices_AddCertificate',
  async ({ tx, events, scope, caller, changed }, { deviceId, fingerprint, status = 'Pending' }) => {
    await lockDevice(tx, deviceId)
    // Whoever adds a certificate by hand means it: a tombstone of an earlier rejection is cleared.
    await tx
      .deleteFrom('device_certificate_tombstone')
      .where('device_id', '=', deviceId)
      .where('fingerprint', '=', fingerprint)
      .execute()
    const present = await tx
      .selectFrom('device_certificate')
      .where('device_id', '=', deviceId)
      .where('fingerprint', '=', fingerprint)
      .select('certificate_id')
      .executeTakeFirst()
    if (present)
      throw new ActionError(
        'Invalid',
        `The device has this certificate already: ${present.certificate_id}.`,
        { status: 409 },
      )
    const certificateId = await addCertificate(tx, caller, deviceId, fingerprint, status)
    await events.emit('devices_CertificateAdded', {
      projectId: scope.projectId!,
      deviceId,
      certificateId,
      status,
    })
    changed('certificates')
    changed('devices')
    return { certificateId }
  },
)

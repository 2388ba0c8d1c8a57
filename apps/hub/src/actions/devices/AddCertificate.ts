import { ActionError } from '@muster/actions'
import { addCertificate, lockDevice } from '../../database/device-certificates.ts'
import { handler } from '../../handler.ts'

export const devices_AddCertificate = handler(
  'devices_AddCertificate',
  async ({ tx, events, scope, caller, changed }, { deviceId, fingerprint, status = 'Pending' }) => {
    await lockDevice(tx, deviceId)
    // Adding it by hand takes back an earlier rejection or revocation, which is for administrators (decisions, "Devices").
    const tombstone = await tx
      .deleteFrom('device_certificate_tombstone')
      .where('device_id', '=', deviceId)
      .where('fingerprint', '=', fingerprint)
      .returning('status')
      .executeTakeFirst()
    if (tombstone && scope.role === 'Member') {
      throw new ActionError(
        'Forbidden',
        `This certificate was ${tombstone.status.toLowerCase()}: only administrators of the organization add it again.`,
      )
    }
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

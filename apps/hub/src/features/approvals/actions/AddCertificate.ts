import { ActionError } from '@muster/actions'
import { isCertificateBlocked } from '../../../link/gateway/device-blocks.ts'
import { addCertificate, lockDevice } from '../../../link/gateway/device-certificates.ts'
import { requireRoomForCertificate } from '../../../platform/limits/pending.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { addSuccessor } from '../successors.ts'

/**
 * Registers a certificate by hand, or the next one of the calling device. Only administrators may register a rejected or revoked certificate
 * again.
 */
export const devices_AddCertificate = handler('devices_AddCertificate', async (context, input) => {
  const { tx, events, scope, caller, changed, services } = context
  if (caller.actor === 'Device') return addSuccessor(context, caller, input)
  const { deviceId, fingerprint, status = 'Pending' } = input
  const { organizationId, projectId } = scope
  const ids = { ...(organizationId && { organizationId }), ...(projectId && { projectId }) }
  const { pendingCertificates } = await lockDevice(tx, deviceId)
  // A tombstone means that the certificate was rejected or revoked, and then deleted. Only administrators may add the certificate
  // again (docs/decisions.md, "Certificates"). For other callers the `Forbidden` error also rolls back the deletion of the tombstone.
  const tombstone = await tx
    .deleteFrom('device_certificate_tombstone')
    .where('device_id', '=', deviceId)
    .where('fingerprint', '=', fingerprint)
    .returning('status')
    .executeTakeFirst()
  if (tombstone && !scope.rights?.has('administer') && caller.actor !== 'System') {
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
    throw new ActionError('Invalid', `The device has this certificate already: ${present.certificate_id}.`, {
      status: 409,
    })
  if (await isCertificateBlocked(tx, projectId!, fingerprint))
    throw new ActionError(
      'Invalid',
      'This certificate is blocked in the project: remove the block in the settings of the project first.',
      { status: 409 },
    )
  if (status === 'Pending')
    requireRoomForCertificate(pendingCertificates, { ...ids, deviceId }, services.limits)
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
})

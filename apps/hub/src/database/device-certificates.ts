import { type CertificateStatus, newId } from '@muster/actions'
import { sql } from 'kysely'
import { type Caller, wireActor } from '../caller.ts'
import type { Tx } from './connection.ts'

type Certificate = { deviceId: string; certificateId: string; fingerprint: string }

/** Adds a certificate with its history entry; returns its id. Throws a unique violation when the device has it already. */
export async function addCertificate(
  tx: Tx,
  caller: Caller,
  deviceId: string,
  fingerprint: string,
  status: CertificateStatus,
): Promise<string> {
  const certificateId = newId('d_c')
  await tx
    .insertInto('device_certificate')
    .values({ certificate_id: certificateId, device_id: deviceId, fingerprint, status })
    .execute()
  await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, status)
  return certificateId
}

/** Writes the history entry of a certificate's new status and counts the device's pending ones again. */
export async function recordCertificateChange(
  tx: Tx,
  caller: Caller,
  { deviceId, certificateId, fingerprint }: Certificate,
  status: CertificateStatus | 'Deleted',
): Promise<void> {
  await tx
    .insertInto('device_certificate_change')
    .values({
      device_id: deviceId,
      certificate_id: certificateId,
      fingerprint,
      status,
      actor: JSON.stringify(wireActor(caller)),
    })
    .execute()
  await tx
    .updateTable('device')
    .set({
      pending_certificates: sql<number>`(select count(*) from device_certificate c
        where c.device_id = device.device_id and c.status = 'Pending')`,
    })
    .where('device_id', '=', deviceId)
    .execute()
}

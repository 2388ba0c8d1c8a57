import { type CertificateStatus, newId } from '@muster/actions'
import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { type Caller, wireActor } from '../../platform/pipeline/caller.ts'

/** Facts about a certificate at the time when a device has shown or announced it. */
type Sight = {
  tokenId: string
  /** IP address of the first connection with it. */
  remoteAddress?: string
  /** End of its validity. */
  expiresAt: Date | undefined
  /** Id of the certificate with which the device announced it. */
  predecessorId?: string
}

type Certificate = { deviceId: string; certificateId: string; fingerprint: string }

/**
 * Locks a device until the end of the transaction, and resolves to its count of pending certificates. Each change of a
 * certificate counts the pending certificates again. Without the lock, two concurrent changes would not see each other's rows
 * and would store a wrong count. Throws for a device that no longer exists.
 */
export async function lockDevice(tx: Tx, deviceId: string): Promise<{ pendingCertificates: number }> {
  const row = await tx
    .selectFrom('device')
    .where('device_id', '=', deviceId)
    .select('pending_certificates')
    .forUpdate()
    .executeTakeFirstOrThrow()
  return { pendingCertificates: row.pending_certificates }
}

/**
 * Id of another device of a project on which a certificate is active; undefined if there is none. The caller has locked the certificate
 * (`lockCertificate`).
 */
export async function deviceWithActive(
  tx: Tx,
  { projectId, deviceId, fingerprint }: { projectId: string; deviceId: string; fingerprint: string },
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('device_certificate as c')
    .innerJoin('device as d', 'd.device_id', 'c.device_id')
    .where('c.fingerprint', '=', fingerprint)
    .where('c.status', '=', 'Active')
    .where('d.project_id', '=', projectId)
    .where('d.device_id', '<>', deviceId)
    .select('d.device_id')
    .limit(1)
    .executeTakeFirst()
  return row?.device_id
}

/**
 * Adds a certificate and its history entry; returns its id. A certificate that a person adds has no `sight`. The device must be locked.
 * Throws a unique violation when the device has a certificate with this fingerprint already.
 */
export async function addCertificate(
  tx: Tx,
  caller: Caller,
  deviceId: string,
  fingerprint: string,
  status: CertificateStatus,
  sight?: Sight,
): Promise<string> {
  const certificateId = newId('d_c')
  await tx
    .insertInto('device_certificate')
    .values({
      certificate_id: certificateId,
      device_id: deviceId,
      fingerprint,
      status,
      token_id: sight?.tokenId ?? null,
      remote_address: sight?.remoteAddress ?? null,
      expires_at: sight?.expiresAt ?? null,
      predecessor_id: sight?.predecessorId ?? null,
    })
    .execute()
  await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, status)
  return certificateId
}

/**
 * Writes the history entry of a certificate's new status and updates the device's count of pending certificates. The device must be
 * locked.
 */
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

import { X509Certificate } from 'node:crypto'
import {
  ActionError,
  MAX_SUCCESSORS,
  MIN_SUCCESSOR_SECS,
  type ParsedInput,
  SUCCESSOR_REST_SECS,
} from '@muster/actions'
import { canSignRenewal, isRenewalSigned } from '@muster/link/certificate-renewal'
import { sql } from 'kysely'
import { isCertificateBlocked } from '../../link/gateway/device-blocks.ts'
import {
  addCertificate,
  lockDevice,
  recordCertificateChange,
} from '../../link/gateway/device-certificates.ts'
import type { DeviceRegistry } from '../../link/links/registry.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Caller, DeviceCaller } from '../../platform/pipeline/caller.ts'
import type { CommandContext } from '../../platform/pipeline/command-context.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

type Input = ParsedInput<'devices_AddCertificate'>
type Current = { certificateId: string; fingerprint: string }

/**
 * Adds the next certificate of a device, which the device itself announces over its connection and proves with both keys (docs/protocol.md
 * 1.8). The same announcement again resolves to the same certificate, so that a lost answer does no harm. Throws `Forbidden` where a person
 * has to decide, `Invalid` for what the device can mend, and `RateLimited` for a second one within a day.
 */
export async function addSuccessor(
  { tx, events, changed }: Pick<CommandContext, 'tx' | 'events' | 'changed'>,
  caller: DeviceCaller,
  { deviceId, fingerprint, status, renewal }: Input,
): Promise<{ certificateId: string }> {
  const { projectId, tokenId } = caller
  if (!renewal)
    throw new ActionError('Invalid', 'Found no `renewal`, expected both certificates of the device, signed.')
  if (status !== undefined && status !== 'Active')
    throw new ActionError('Invalid', `Found the status ${status}, expected Active or none.`)
  const { isAllowed } = await tx
    .selectFrom('project')
    .where('project_id', '=', projectId)
    .select('certificate_renewal as isAllowed')
    .executeTakeFirstOrThrow()
  if (!isAllowed)
    throw forbidden('Devices of this project may not announce certificates. Allow it in its settings first.')

  await lockDevice(tx, deviceId)
  const current = await currentOf(tx, caller)
  const expiresAt = endOf({ deviceId, fingerprint, current, renewal })
  const present = await tx
    .selectFrom('device_certificate')
    .where('device_id', '=', deviceId)
    .where('fingerprint', '=', fingerprint)
    .select(['certificate_id', 'status', 'predecessor_id'])
    .executeTakeFirst()
  if (present?.status === 'Active' && present.predecessor_id === current.certificateId)
    return { certificateId: present.certificate_id }
  if (present && present.status !== 'Pending')
    throw new ActionError(
      'Invalid',
      `The device has this certificate already: ${present.certificate_id} is ${present.status}. Make a new one.`,
      { status: 409 },
    )
  await requireOwn(tx, { projectId, deviceId, fingerprint })
  await requireFewSuccessors(tx, deviceId)
  const predecessorId = current.certificateId
  changed('certificates')
  changed('devices')
  if (!present) {
    const sight = { tokenId, expiresAt, predecessorId }
    const certificateId = await addCertificate(tx, caller, deviceId, fingerprint, 'Active', sight)
    const data = { projectId, deviceId, certificateId, status: 'Active', predecessorId }
    await events.emit('devices_CertificateAdded', data)
    return { certificateId }
  }
  // A command of the device has shown the certificate before it was announced.
  const certificateId = present.certificate_id
  await tx
    .updateTable('device_certificate')
    .set({ status: 'Active', expires_at: expiresAt, predecessor_id: predecessorId })
    .where('certificate_id', '=', certificateId)
    .execute()
  await recordCertificateChange(tx, caller, { deviceId, certificateId, fingerprint }, 'Active')
  const data = { projectId, deviceId, certificateId, status: 'Active' }
  await events.emit('devices_CertificateStatusChanged', data, { old: { status: 'Pending' } })
  return { certificateId }
}

/** Certificate of the connection. Throws `Forbidden` if it was revoked or deleted since. */
async function currentOf(tx: Tx, { deviceId, certificateId }: DeviceCaller): Promise<Current> {
  const current = await tx
    .selectFrom('device_certificate')
    .where('certificate_id', '=', certificateId ?? '')
    .where('device_id', '=', deviceId)
    .where('status', '=', 'Active')
    .select(['certificate_id as certificateId', 'fingerprint'])
    .executeTakeFirst()
  if (!current) throw forbidden('The certificate of this connection is no longer active.')
  return current
}

/** End of the next certificate, if both certificates and their signatures are right. Throws `Invalid` otherwise. */
function endOf({
  deviceId,
  fingerprint,
  current,
  renewal,
}: {
  deviceId: string
  fingerprint: string
  current: Current
  renewal: NonNullable<Input['renewal']>
}): Date {
  const certificates = {
    currentCertificate: { ...certificateOf(renewal.currentCertificate), signature: renewal.currentSignature },
    nextCertificate: { ...certificateOf(renewal.nextCertificate), signature: renewal.nextSignature },
  }
  const { currentCertificate, nextCertificate } = certificates
  const fingerprints = { currentFingerprint: current.fingerprint, nextFingerprint: fingerprint }
  if (currentCertificate.fingerprint !== current.fingerprint)
    throw invalid('`currentCertificate` is another certificate than the one of this connection.')
  if (nextCertificate.fingerprint !== fingerprint)
    throw invalid('`nextCertificate` has another fingerprint than `fingerprint`.')
  for (const [name, { publicKey, signature }] of Object.entries(certificates)) {
    if (!canSignRenewal(publicKey))
      throw invalid(
        `Found a key of type ${publicKey.asymmetricKeyType} in \`${name}\`, expected EC, RSA, Ed25519 or Ed448.`,
      )
    if (!isRenewalSigned({ deviceId, ...fingerprints }, publicKey, signature))
      throw invalid(`The signature for \`${name}\` is not one of its key over this renewal.`)
  }
  const now = Date.now()
  if (currentCertificate.endMs < now) throw forbidden('The certificate of this connection has expired.')
  if (!(nextCertificate.endMs - now >= MIN_SUCCESSOR_SECS * 1000))
    throw invalid(
      `\`nextCertificate\` ends too early, expected it to be valid for ${MIN_SUCCESSOR_SECS / 3600} hours or longer.`,
    )
  return new Date(nextCertificate.endMs)
}

function certificateOf(pem: string) {
  try {
    const { fingerprint256: fingerprint, publicKey, validToDate } = new X509Certificate(pem)
    return { fingerprint, publicKey, endMs: validToDate.getTime() }
  } catch {
    throw invalid('A certificate of the renewal cannot be read, expected PEM text.')
  }
}

/**
 * Throws if a person has deleted a certificate of this device, if another device of the project has it, and if it is blocked. So a signature
 * that was seen once brings no certificate back.
 */
async function requireOwn(
  tx: Tx,
  { projectId, deviceId, fingerprint }: { projectId: string; deviceId: string; fingerprint: string },
): Promise<void> {
  if (await isCertificateBlocked(tx, projectId, fingerprint))
    throw forbidden('This certificate is blocked in the project.')
  const past = await tx
    .selectFrom('device_certificate_change')
    .where('device_id', '=', deviceId)
    .where('fingerprint', '=', fingerprint)
    .where('status', '=', 'Deleted')
    .select('certificate_id')
    .limit(1)
    .executeTakeFirst()
  const tombstone = await tx
    .selectFrom('device_certificate_tombstone')
    .where('device_id', '=', deviceId)
    .where('fingerprint', '=', fingerprint)
    .select('status')
    .executeTakeFirst()
  if (past || tombstone)
    throw forbidden('The device had this certificate before, and a person deleted it. Make a new one.')
  const other = await tx
    .selectFrom('device_certificate as c')
    .innerJoin('device as d', 'd.device_id', 'c.device_id')
    .where('c.fingerprint', '=', fingerprint)
    .where('d.project_id', '=', projectId)
    .where('d.device_id', '<>', deviceId)
    .select('c.certificate_id')
    .limit(1)
    .executeTakeFirst()
  if (other) throw forbidden('Another device of the project has this certificate. Make a new one.')
}

/** Throws `Invalid` when the device has announced as many certificates as it may have, `RateLimited` when it has announced one today. */
async function requireFewSuccessors(tx: Tx, deviceId: string): Promise<void> {
  // The time of the announcement, not of the first sight: a command of the device may have shown the certificate days before.
  const announcedAt = sql`(select max(h.changed_at) from device_certificate_change h
    where h.device_id = c.device_id and h.certificate_id = c.certificate_id and h.status = 'Active')`
  const { count, next } = await tx
    .selectFrom('device_certificate as c')
    .where('c.device_id', '=', deviceId)
    .where('c.predecessor_id', 'is not', null)
    .select([
      sql<number>`count(*) filter (where c.status = 'Active' and c.expires_at > now())`.as('count'),
      sql<Date | null>`max(${announcedAt}) + make_interval(secs => ${SUCCESSOR_REST_SECS})`.as('next'),
    ])
    .executeTakeFirstOrThrow()
  if (count >= MAX_SUCCESSORS)
    throw new ActionError(
      'Invalid',
      `The device has announced ${count} certificates that have not expired, expected at most ${MAX_SUCCESSORS}. Revoke or delete one of them.`,
      { status: 409 },
    )
  const restMs = next === null ? 0 : next.getTime() - Date.now()
  if (restMs > 0)
    throw new ActionError(
      'RateLimited',
      `The device has announced a certificate today. It may announce the next one from ${next!.toISOString()} on.`,
      { retryAfterSecs: Math.ceil(restMs / 1000) },
    )
}

/**
 * Revokes the active certificates that a device announced with a certificate, with their successors, and ends their connections after the
 * commit. The device must be locked.
 */
export async function revokeSuccessors(
  {
    tx,
    caller,
    events,
    afterCommit,
  }: Pick<CommandTransaction, 'tx' | 'events' | 'afterCommit'> & { caller: Caller },
  devices: DeviceRegistry,
  { certificateId, deviceId, projectId }: { certificateId: string; deviceId: string; projectId: string },
): Promise<void> {
  const { rows } = await sql<Current>`
    with recursive successor as (
      select certificate_id from device_certificate where device_id = ${deviceId} and predecessor_id = ${certificateId}
      union
      select c.certificate_id from device_certificate c join successor s on c.predecessor_id = s.certificate_id
       where c.device_id = ${deviceId}
    )
    update device_certificate c set status = 'Revoked' from successor s
     where c.certificate_id = s.certificate_id and c.status = 'Active'
    returning c.certificate_id as "certificateId", c.fingerprint`.execute(tx)
  for (const successor of rows) {
    await recordCertificateChange(tx, caller, { deviceId, ...successor }, 'Revoked')
    await events.emit(
      'devices_CertificateStatusChanged',
      {
        projectId,
        deviceId,
        certificateId: successor.certificateId,
        status: 'Revoked',
      },
      { old: { status: 'Active' } },
    )
    afterCommit(() =>
      devices.endRight({ certificateId: successor.certificateId }, 'the certificate was revoked'),
    )
  }
}

function forbidden(message: string): ActionError {
  return new ActionError('Forbidden', message)
}

function invalid(message: string): ActionError {
  return new ActionError('Invalid', message)
}

import type { IncomingMessage } from 'node:http'
import {
  type CertificateStatus,
  DeploymentToken,
  DeviceFingerprint,
  publicIdOf,
  UserToken,
} from '@muster/actions'
import { FairLimiter, type Permit } from '@muster/concurrency'
import { hashSecret, matchesSecret } from '../../platform/credentials/secrets.ts'
import { select } from '../../platform/database/client/connection.ts'
import { LimitReached } from '../../platform/limits/limit-reached.ts'
import type { LimitValues } from '../../platform/limits/limits.ts'
import { requireRoomForCertificate, requireRoomForPending } from '../../platform/limits/pending.ts'
import { ANONYMOUS, type Caller, type DeviceCaller } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../../platform/pipeline/command-transaction.ts'
import type { Sessions } from '../../platform/sessions/sessions.ts'
import type { ShownCertificate } from './client-certificate.ts'
import { isBlocked, isBlockedSql, lockCertificate } from './device-blocks.ts'
import { addCertificate, deviceWithActive } from './device-certificates.ts'
import { addDevice, EMPTY_FINGERPRINT } from './devices.ts'
import type { EnrolmentBudget } from './enrolment-budget.ts'
import { NewDevices } from './new-devices.ts'
import { Refusal, type RefusalSubject, refuseWhenCrowded } from './refusal.ts'
import { labelNewDevices, type TokenLabels } from './token-labels.ts'

const BEARER = /^Bearer +(\S+)$/i

/**
 * An authenticated peer: a device with its certificate, or a person's command-line client. `unrecordedEnd` is the end of a certificate that
 * was stored without it.
 */
export type Connected =
  | { kind: 'device'; caller: DeviceCaller; certificateId: string; unrecordedEnd: Date | undefined }
  | { kind: 'person'; caller: Caller & { actor: 'UserToken' }; userToken: string }

type Enrolled = { caller: DeviceCaller; isNewDevice: boolean; status: CertificateStatus }

type AuthenticatorOptions = {
  parts: CommandParts
  sessions: Sessions
  readCertificate: (request: IncomingMessage) => ShownCertificate
  /** Returns the client IP of a request, for rate limits. */
  remoteOf: (request: IncomingMessage) => string
  budget: EnrolmentBudget
  limits: LimitValues
  /** Called after a device or certificate was stored for the first time. */
  onEnrolled: (enrolled: Enrolled) => void
}

type Known = {
  token_hash: Buffer
  project_id: string
  organization_id: string
  device_id: string | null
  certificate_id: string | null
  status: CertificateStatus | null
  tombstone: 'Rejected' | 'Revoked' | null
  is_blocked: boolean
  expires_at: Date | null
  auto_accept: boolean
  new_devices_at_once: number | null
  new_devices_per_hour: number | null
}

/** Input of an enrolment, which stores a new device or certificate. */
type Enrolling = {
  request: IncomingMessage
  admission: Permit
  tokenId: string
  known: Known
  fingerprint: string
  certificate: ShownCertificate
  about: RefusalSubject
}

/** Deployment token, with its project and organization. */
type Place = { tokenId: string; organizationId: string; projectId: string }

/** Maximum number of cached `Place` objects, one per token. A full cache is cleared. */
const MAX_PLACES = 10_000

/**
 * Limits of concurrent enrolments on a node that have a transaction of their own. Without the limit per token, a device that keeps sending
 * new fingerprints raised the p99 latency of other devices' events fourfold (`npm run bench -- hostile`).
 */
const ENROLMENTS = { max: 8, maxPerOwner: 1, maxWaiting: 20_000, waitMs: 30_000 }

const LOOK_UP = `
  select t.token_hash, t.project_id, p.organization_id, d.device_id, c.certificate_id, c.status, c.expires_at,
         b.status as tombstone, ${isBlockedSql('t.project_id', '$2', '$3')} as is_blocked, t.auto_accept, t.new_devices_at_once, t.new_devices_per_hour
    from deployment_token t
    join project p using (project_id)
    left join device d on d.project_id = t.project_id and d.fingerprint_hash = $2
    left join device_certificate c on c.device_id = d.device_id and c.fingerprint = $3
    left join device_certificate_tombstone b on b.device_id = d.device_id and b.fingerprint = $3
   where t.token_id = $1`

/**
 * Creates the function that authenticates an upgrade request before it is accepted (docs/protocol.md 1.4): token, then fingerprint, then
 * certificate. The function also stores unknown devices and certificates. It releases its admission permit before it stores a device or
 * certificate, so that enrolments do not delay the authentication of known devices. It throws `Refusal`.
 */
export function createAuthenticator({
  parts,
  sessions,
  readCertificate,
  remoteOf,
  budget,
  limits,
  onEnrolled,
}: AuthenticatorOptions) {
  const { db } = parts
  /** Places by token id. All open connections of a token share the strings of its place, which saves memory. */
  const places = new Map<string, Place>()

  function placeOf(
    tokenId: string,
    { organization_id: organizationId, project_id: projectId }: Known,
  ): Place {
    let place = places.get(tokenId)
    if (place?.organizationId !== organizationId || place.projectId !== projectId) {
      if (places.size >= MAX_PLACES) places.clear()
      place = { tokenId, organizationId, projectId }
      places.set(tokenId, place)
    }
    return place
  }

  const enrolments = new FairLimiter(ENROLMENTS)
  const newDevices = new NewDevices(parts)

  return async (request: IncomingMessage, admission: Permit): Promise<Connected> => {
    const token = bearerOf(request)
    if (DeploymentToken.safeParse(token).success) return authenticateDevice(request, token, admission)
    if (!UserToken.safeParse(token).success) throw unknownToken()
    const caller = await sessions.callerOf({ bearer: token })
    if (caller.actor !== 'UserToken') throw unknownToken()
    return { kind: 'person', caller, userToken: token }
  }

  async function authenticateDevice(
    request: IncomingMessage,
    token: string,
    admission: Permit,
  ): Promise<Connected> {
    const id = publicIdOf(token)
    const fingerprint = String(request.headers['x-device-fingerprint'] ?? '')
    const certificate = attempt(() => readCertificate(request))
    const [known] = await select<Known>(db, LOOK_UP, [
      id,
      hashSecret(fingerprint),
      certificate.value?.fingerprint ?? '',
    ])
    if (!known || !matchesSecret(token, known.token_hash)) throw unknownToken()

    const { tokenId, ...place } = placeOf(id, known)
    const about = { tokenId, place, ...(known.device_id !== null && { deviceId: known.device_id }) }
    if (!DeviceFingerprint.safeParse(fingerprint).success) {
      throw new Refusal(
        'fingerprint',
        400,
        'Invalid',
        'X-Device-Fingerprint is not d_sk_ and 44 base-58 characters',
        about,
      )
    }
    if (fingerprint === EMPTY_FINGERPRINT) {
      throw new Refusal('fingerprint', 403, 'Forbidden', 'the fingerprint script printed nothing', about)
    }
    if (certificate.refusal) {
      throw new Refusal(
        certificate.refusal.reason,
        certificate.refusal.status,
        certificate.refusal.kind,
        certificate.refusal.message,
        about,
      )
    }
    if (known.is_blocked) throw blockedDevice(about)
    if (known.tombstone) throw refusedCertificate(known.tombstone, about)

    let { device_id: deviceId, certificate_id: certificateId, status } = known
    const isUnrecorded = certificateId !== null && known.expires_at === null
    if (deviceId === null || certificateId === null || status === null) {
      const enrolling = {
        request,
        admission,
        tokenId,
        known,
        fingerprint,
        certificate: certificate.value,
        about,
      }
      const enrolled = await refusedByLimit(about, () =>
        known.device_id === null ? enrolNew(enrolling) : enrol(enrolling),
      )
      deviceId = enrolled.caller.deviceId
      certificateId = enrolled.certificateId
      status = enrolled.status
    }
    if (status !== 'Active') throw refusedCertificate(status, { ...about, deviceId })
    const { organizationId, projectId } = place
    const caller: DeviceCaller = {
      actor: 'Device',
      deviceId,
      tokenId,
      organizationId,
      projectId,
      certificateId,
    }
    const unrecordedEnd = isUnrecorded ? certificate.value.expiresAt : undefined
    return { kind: 'device', caller, certificateId, unrecordedEnd }
  }

  /** Enrols an unknown device. Limits are checked before any row of the device is written. */
  async function enrolNew(enrolling: Enrolling) {
    const { request, admission, tokenId, known, about } = enrolling
    const address = remoteOf(request)
    if (!known.auto_accept)
      await requireRoomForPending(
        db,
        { tokenId, projectId: known.project_id, organizationId: known.organization_id },
        limits,
      )
    const ownBudget = { atOnce: known.new_devices_at_once, perHour: known.new_devices_per_hour }
    // The budget may wait for the row of its token, and known devices authenticate meanwhile.
    admission.release()
    await budget.take({ tokenId, address, ownBudget, about })
    let isNewDevice = false
    try {
      const enrolled = (known.auto_accept && (await enrolInBatch(enrolling))) || (await enrol(enrolling))
      isNewDevice = enrolled.isNewDevice
      return enrolled
    } finally {
      // If another connection enrolled the device first, or if the enrolment failed, this call created no device. The device is then
      // subtracted from the budget for new devices again.
      if (!isNewDevice) await budget.giveBack({ tokenId, address })
    }
  }

  /** Enrols the device together with others. Resolves to undefined if it needs `enrol`. */
  async function enrolInBatch({ request, admission, tokenId, known, fingerprint, certificate }: Enrolling) {
    // Lets known devices authenticate while this one waits, as in `enrol`.
    admission.release()
    const stored = await newDevices.add({
      tokenId,
      projectId: known.project_id,
      organizationId: known.organization_id,
      fingerprint,
      certificate,
      address: remoteOf(request),
      hasLeft: () => request.socket.destroyed,
    })
    if (!stored) return undefined
    const enrolled = { ...stored, status: 'Active' as const, isNewDevice: true }
    onEnrolled(enrolled)
    return enrolled
  }

  /**
   * Creates the device and the certificate unless they exist, in a transaction of its own. Concurrent connections of a device create it once.
   */
  async function enrol({ request, admission, tokenId, known, fingerprint, certificate, about }: Enrolling) {
    const { project_id: projectId, organization_id: organizationId } = known
    // The enrolment may wait long in the queue of its token. Releasing the permit first lets known devices authenticate during
    // that wait.
    admission.release()
    using _permit = await enrolments.enter({ owner: tokenId }).catch(refuseWhenCrowded)
    if (request.socket.destroyed)
      throw new Refusal('disconnected', 503, 'Internal', 'the device disconnected', about)
    const origin = { address: remoteOf(request) }
    const store = async ({ tx, events, changed }: CommandTransaction) => {
      // The row lock delays a concurrent delete of the token or its project until this transaction ends. If the delete came first, no
      // row is found and no device is enrolled. `auto_accept` is read again because it may have changed since the look-up.
      const token = await tx
        .selectFrom('deployment_token')
        .where('token_id', '=', tokenId)
        .select(['auto_accept', 'own_certificate', 'labels'])
        .forKeyShare()
        .executeTakeFirst()
      if (!token) throw unknownToken()
      // Locked before the row of the device, as in a batch of new devices.
      await lockCertificate(tx, projectId, certificate.fingerprint)
      const isNewDevice = (await addDevice(tx, projectId, fingerprint)) !== undefined
      // Read after the row of the device is there: a block deletes that row, and may have done so since the look-up.
      if (await isBlocked(tx, projectId, fingerprint, certificate.fingerprint)) throw blockedDevice(about)
      const { device_id: deviceId, pending_certificates: pending } = await tx
        .selectFrom('device')
        .where('project_id', '=', projectId)
        .where('fingerprint_hash', '=', hashSecret(fingerprint))
        .select(['device_id', 'pending_certificates'])
        .forUpdate()
        .executeTakeFirstOrThrow()
      const caller: DeviceCaller = { actor: 'Device', deviceId, tokenId, projectId, organizationId }
      const scope = { organizationId, projectId, deviceId }
      if (isNewDevice) {
        await events.emit('devices_Created', { deviceId, projectId }, { caller })
        await labelNewDevices({ tx, events }, token.labels as TokenLabels, [caller])
        // Consoles reload their list of tokens, which shows how many devices each token has enrolled.
        changed('tokens')
      }
      const present = await tx
        .selectFrom('device_certificate')
        .where('device_id', '=', deviceId)
        .where('fingerprint', '=', certificate.fingerprint)
        .select(['certificate_id', 'status'])
        .executeTakeFirst()
      if (present) {
        const { certificate_id: certificateId, status } = present
        return { caller, certificateId, status: status as CertificateStatus, isNewDevice, isNew: false }
      }
      const before = await tx
        .selectFrom('device_certificate_change')
        .where('device_id', '=', deviceId)
        .select('certificate_id')
        .limit(1)
        .executeTakeFirst()
      // Only the first certificate that a device ever had is accepted automatically. A person must accept each later certificate
      // (docs/decisions.md, "Certificates").
      const isAccepted = token.auto_accept && !before
      const activeOn =
        isAccepted && token.own_certificate
          ? await deviceWithActive(tx, { projectId, deviceId, fingerprint: certificate.fingerprint })
          : undefined
      const status: CertificateStatus = isAccepted && activeOn === undefined ? 'Active' : 'Pending'
      // The room for a new device that waits for approval was checked before, unless its certificate is why it waits.
      if (status === 'Pending' && (!isNewDevice || activeOn !== undefined)) {
        const subject = { ...scope, tokenId }
        requireRoomForCertificate(pending, subject, limits)
        if (pending === 0) await requireRoomForPending(tx, subject, limits)
      }
      const certificateId = await addCertificate(tx, caller, deviceId, certificate.fingerprint, status, {
        tokenId,
        remoteAddress: origin.address,
        expiresAt: certificate.expiresAt,
      })
      const other = activeOn !== undefined && { activeOnDeviceId: activeOn }
      const added = { projectId, deviceId, certificateId, status, ...other }
      await events.emit('devices_CertificateAdded', added, { caller })
      changed('devices', { deviceId })
      changed('certificates', { deviceId })
      return { caller, certificateId, status, isNewDevice, isNew: true }
    }
    // Only the transaction finds out the id of the device, so each event names its caller.
    const cause = { caller: ANONYMOUS, scope: { organizationId, projectId }, origin }
    const enrolled = await commandTransaction(store, cause, parts)
    if (enrolled.isNew || enrolled.isNewDevice) onEnrolled(enrolled)
    return enrolled
  }
}

/** Returns the ids of the token and fingerprint of a request, unverified, for the log of refused connections. The ids are not secret. */
export function claimsOf(request: IncomingMessage): { tokenId?: string; fingerprintId?: string } {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const fingerprint = String(request.headers['x-device-fingerprint'] ?? '')
  const isToken = DeploymentToken.safeParse(token).success || UserToken.safeParse(token).success
  return {
    ...(isToken && { tokenId: publicIdOf(token) }),
    ...(DeviceFingerprint.safeParse(fingerprint).success && { fingerprintId: publicIdOf(fingerprint) }),
  }
}

/**
 * Returns the token of `Authorization`. Throws `Refusal` when a legacy token header differs from it (docs/protocol.md 1.2, section 10 row
 * 25).
 */
function bearerOf(request: IncomingMessage): string {
  const match = BEARER.exec(request.headers.authorization ?? '')
  if (!match) throw new Refusal('token_invalid', 401, 'Forbidden', 'no bearer token')
  const token = match[1]!
  for (const header of ['x-deployment-token', 'x-user-token']) {
    const repeated = request.headers[header]
    if (repeated !== undefined && repeated !== token)
      throw new Refusal('token_invalid', 401, 'Forbidden', `${header} differs from Authorization`)
  }
  return token
}

/** Runs `work` and converts a `LimitReached` error into a refusal of the connection. */
async function refusedByLimit<T>(about: RefusalSubject, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof LimitReached ? Refusal.of(error, about) : error
  }
}

function unknownToken(): Refusal {
  return new Refusal('token_invalid', 401, 'Forbidden', 'unknown token')
}

function blockedDevice(about: RefusalSubject): Refusal {
  return new Refusal('device_blocked', 403, 'Forbidden', 'this device is blocked in its project', about)
}

function refusedCertificate(status: Exclude<CertificateStatus, 'Active'>, about: RefusalSubject): Refusal {
  const word = status.toLowerCase() as Lowercase<typeof status>
  return new Refusal(`certificate_${word}`, 403, 'Forbidden', `certificate is ${word}`, about)
}

/**
 * Returns a refusal of the certificate instead of throwing it. The caller throws it after the token is verified, because the response to a
 * client without a valid token must not reveal anything about the certificate (docs/protocol.md 1.4).
 */
function attempt<T>(
  read: () => T,
): { value: T; refusal?: undefined } | { value?: undefined; refusal: Refusal } {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error }
    throw error
  }
}

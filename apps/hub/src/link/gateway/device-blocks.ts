import { sql } from 'kysely'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import { select, type Tx } from '../../platform/database/client/connection.ts'

type ProjectCertificate = { projectId: string; certificate: string }

/**
 * SQL condition that a project refuses a device by its fingerprint or its certificate. The parameters are SQL expressions; a certificate
 * that is null is not blocked.
 */
export function isBlockedSql(projectId: string, fingerprintHash: string, certificate: string): string {
  return `(exists (select from device_block b
              where b.project_id = ${projectId} and b.fingerprint_hash = ${fingerprintHash})
        or exists (select from device_block_certificate b
              where b.project_id = ${projectId} and b.fingerprint = ${certificate}))`
}

/**
 * Until the end of the transaction, other transactions that ask for a certificate of the project wait. So a certificate is not blocked
 * while another device gets it, and of two new devices with one certificate the later one finds the earlier one.
 */
export async function lockCertificate(tx: Tx, projectId: string, certificate: string): Promise<void> {
  const key = lockKey({ projectId, certificate })
  await sql`select pg_advisory_xact_lock(hashtextextended(${key}::text, 0))`.execute(tx)
}

/**
 * Locks those of the certificates that no other transaction has locked (`lockCertificate`), without a wait. Returns the function that says
 * whether a certificate is locked.
 */
export async function lockFreeCertificates(
  tx: Tx,
  certificates: readonly ProjectCertificate[],
): Promise<(certificate: ProjectCertificate) => boolean> {
  const keys = [...new Set(certificates.map(lockKey))]
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${keys}::text[]) as key where pg_try_advisory_xact_lock(hashtextextended(key, 0))`.execute(
    tx,
  )
  const locked = new Set(rows.map(({ key }) => key))
  return certificate => locked.has(lockKey(certificate))
}

function lockKey({ projectId, certificate }: ProjectCertificate): string {
  return `${projectId} ${certificate}`
}

const IS_BLOCKED = `select ${isBlockedSql('$1', '$2', '$3')} as is_blocked`

/** Whether a project refuses a device by its fingerprint or its certificate. The certificate is locked (`lockCertificate`). */
export async function isBlocked(
  tx: Tx,
  projectId: string,
  fingerprint: string,
  certificate: string,
): Promise<boolean> {
  const values = [projectId, hashSecret(fingerprint), certificate]
  const [row] = await select<{ is_blocked: boolean }>(tx, IS_BLOCKED, values)
  return row!.is_blocked
}

/** Whether a project refuses a device by its fingerprint. */
export async function isFingerprintBlocked(tx: Tx, projectId: string, fingerprint: string): Promise<boolean> {
  const block = await tx
    .selectFrom('device_block')
    .where('project_id', '=', projectId)
    .where('fingerprint_hash', '=', hashSecret(fingerprint))
    .select('block_id')
    .executeTakeFirst()
  return block !== undefined
}

/** Whether a project refuses a certificate. Locks the certificate (`lockCertificate`). */
export async function isCertificateBlocked(tx: Tx, projectId: string, certificate: string): Promise<boolean> {
  await lockCertificate(tx, projectId, certificate)
  const block = await tx
    .selectFrom('device_block_certificate')
    .where('project_id', '=', projectId)
    .where('fingerprint', '=', certificate)
    .select('block_id')
    .limit(1)
    .executeTakeFirst()
  return block !== undefined
}

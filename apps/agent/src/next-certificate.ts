import { X509Certificate } from 'node:crypto'
import { access, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type DeviceCertificate, loadDeviceCertificate, readDeviceCertificate } from './certificate.ts'
import { syncFolders } from './file-once.ts'

/** Paths of the PEM files of a device's certificate and key. */
export type CertificatePaths = { certificatePath: string; keyPath: string }

/** A certificate that the device shall use next. `store` puts one that the agent has made in place of the current one. */
type NextCertificate = { certificate: DeviceCertificate; store: () => Promise<void> }

/** Share of its validity after which the agent follows up a self-signed certificate. */
const RENEWED_AFTER = 2 / 3

/**
 * Finds the certificate that follows the one in use: another pair in the files, which whoever renews them has put there, else one that the
 * agent makes because two thirds of the life of a self-signed certificate are over. Only its owner can renew a certificate of an authority.
 * The made pair waits in files of its own until `store`, so that an interrupted agent announces the same pair again. Throws `ConfigError`
 * for files that cannot be used or written.
 */
export async function nextCertificate(
  current: DeviceCertificate,
  paths: CertificatePaths,
  nowMs = Date.now(),
): Promise<NextCertificate | undefined> {
  const found = await readDeviceCertificate(paths.certificatePath, paths.keyPath)
  if (found.certificatePem !== current.certificatePem)
    return { certificate: found, store: () => Promise.resolve() }
  if (!isSelfSigned(current) || nowMs < renewalTimeMs(current)) return undefined
  const waiting = waitingPaths(paths)
  return {
    certificate: await loadDeviceCertificate(waiting.certificatePath, waiting.keyPath),
    store: () => replaceFiles(paths),
  }
}

/** Ends a replacement of the files that was interrupted after the key. Does nothing without one. */
export async function finishReplacement(paths: CertificatePaths): Promise<void> {
  const waiting = waitingPaths(paths)
  const hasCertificate = await isThere(waiting.certificatePath)
  if (hasCertificate && !(await isThere(waiting.keyPath)))
    await rename(waiting.certificatePath, paths.certificatePath)
}

/** Replaces the key, then the certificate. */
async function replaceFiles(paths: CertificatePaths): Promise<void> {
  await rename(waitingPaths(paths).keyPath, paths.keyPath)
  await finishReplacement(paths)
  await syncFolders(dirname(paths.keyPath))
  await syncFolders(dirname(paths.certificatePath))
}

function waitingPaths({ certificatePath, keyPath }: CertificatePaths): CertificatePaths {
  return { certificatePath: `${certificatePath}.next`, keyPath: `${keyPath}.next` }
}

function isSelfSigned({ certificatePem }: DeviceCertificate): boolean {
  const certificate = new X509Certificate(certificatePem)
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)
}

function renewalTimeMs({ certificatePem }: DeviceCertificate): number {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem)
  const fromMs = validFromDate.getTime()
  return fromMs + (validToDate.getTime() - fromMs) * RENEWED_AFTER
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

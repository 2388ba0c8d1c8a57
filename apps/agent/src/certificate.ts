import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmod, readFile } from 'node:fs/promises'
import { createCertificate, selfSignedPem } from '@muster/link/certificate'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'
import { createFileOnce } from './file-once.ts'

/** Certificate chain (leaf certificate first) and private key of a device, as PEM text. */
export type DeviceCertificate = { certificatePem: string; keyPem: string }

const COMMON_NAME = 'muster agent'

/** Creates a P-256 key and a self-signed certificate for it (docs/protocol.md 1.3). */
export function createDeviceCertificate(commonName = COMMON_NAME): DeviceCertificate {
  return createCertificate(commonName)
}

/**
 * Loads the device's certificate and key from their PEM files. If both files are missing, creates both, readable by the owner only. If
 * an interrupted start has left only a key on P-256, creates a certificate for this key. Throws `ConfigError` for any other missing
 * file, and for unreadable or mismatched files (docs/protocol.md 8.1).
 */
export async function loadDeviceCertificate(
  certificatePath: string,
  keyPath: string,
): Promise<DeviceCertificate> {
  const found = await readOrCreate(certificatePath, keyPath)
  check(found, certificatePath, keyPath)
  // Restricts the permissions of a key that other accounts may read. This fails on a read-only file system, where the agent uses
  // the key as it is.
  await chmod(keyPath, 0o600).catch(() => {})
  return found
}

/**
 * Reads the certificate and key. Throws `ConfigError` when they cannot be used, for instance while they are being
 * replaced.
 */
export async function readDeviceCertificate(
  certificatePath: string,
  keyPath: string,
): Promise<DeviceCertificate> {
  const certificatePem = await readIfThere('ssl-cert', certificatePath)
  const keyPem = await readIfThere('ssl-key', keyPath)
  if (certificatePem === undefined || keyPem === undefined)
    throw new ConfigError(`ssl-cert, ssl-key: found no ${certificatePath} or no ${keyPath}, expected both`)
  const found = { certificatePem, keyPem }
  check(found, certificatePath, keyPath)
  return found
}

/** SHA-256 fingerprint of the leaf certificate in the form shown in the console: `AA:BB:…` (docs/protocol.md 6.5). */
export function certificateFingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256
}

/** Whether a certificate is over by the clock of this machine. */
export function hasExpired({ certificatePem }: DeviceCertificate): boolean {
  return new X509Certificate(certificatePem).validToDate.getTime() < Date.now()
}

/**
 * Stores the key first, then a certificate for the stored key. If a start is interrupted in between, the next start creates the
 * certificate for the stored key. Agents that start at the same time end up with the same pair.
 */
async function readOrCreate(certificatePath: string, keyPath: string): Promise<DeviceCertificate> {
  // Reads the certificate before the key. Otherwise a pair that another agent stores between the two reads could look like a
  // certificate without its key.
  const certificatePem = await readIfThere('ssl-cert', certificatePath)
  const found = await readIfThere('ssl-key', keyPath)
  if (certificatePem !== undefined) {
    if (found === undefined) throw oneMissing(certificatePath, keyPath)
    return { certificatePem, keyPem: found }
  }
  const keyPem = found ?? (await storeOnce('ssl-key', keyPath, createDeviceCertificate().keyPem))
  const key = parse('ssl-key', keyPath, 'a PEM private key', () => createPrivateKey(keyPem))
  // The agent creates only P-256 keys. A key of another kind is from the operator, so its missing certificate is reported as an error.
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw oneMissing(keyPath, certificatePath)
  return {
    certificatePem: await storeOnce('ssl-cert', certificatePath, selfSignedPem(key, COMMON_NAME)),
    keyPem,
  }
}

/** Writes the text unless the file exists. Resolves to the content of the file. */
async function storeOnce(key: string, path: string, text: string): Promise<string> {
  try {
    return (await createFileOnce(path, text)) ? text : await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${key}: found ${codeOf(error)} writing ${path}, expected a writable folder`, {
      cause: error,
    })
  }
}

function oneMissing(there: string, missing: string): ConfigError {
  return new ConfigError(
    `ssl-cert, ssl-key: found ${there} without ${missing}, expected both, or neither to have a pair generated`,
  )
}

async function readIfThere(key: string, path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new ConfigError(`${key}: found ${path} (${codeOf(error)}), expected a readable PEM file`, {
      cause: error,
    })
  }
}

function check(
  { certificatePem, keyPem }: DeviceCertificate,
  certificatePath: string,
  keyPath: string,
): void {
  const certificate = parse(
    'ssl-cert',
    certificatePath,
    'a PEM certificate',
    () => new X509Certificate(certificatePem),
  )
  const key = parse('ssl-key', keyPath, 'a PEM private key', () => createPrivateKey(keyPem))
  if (!certificate.checkPrivateKey(key)) {
    throw new ConfigError(
      `ssl-key: found ${keyPath}, expected the key of the certificate in ${certificatePath}`,
    )
  }
}

function parse<T>(key: string, path: string, expected: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ConfigError(`${key}: found ${path} with other content, expected ${expected}`, { cause: error })
  }
}

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { chmod, readFile } from 'node:fs/promises'
import { certificatePem, selfSignedDer } from './certificate-der.ts'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'
import { createFileOnce } from './file-once.ts'

/** What a device proves itself with: the text of its PEM files, the leaf certificate first. */
export type DeviceCertificate = { certificatePem: string; keyPem: string }

const COMMON_NAME = 'muster agent'

/** A new key and a self-signed certificate for it (protocol 1.3). */
export function createDeviceCertificate(commonName = COMMON_NAME): DeviceCertificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    certificatePem: selfSignedPem(privateKey, commonName),
    keyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

function selfSignedPem(privateKey: KeyObject, commonName = COMMON_NAME): string {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const der = selfSignedDer({
    commonName,
    serial,
    publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    sign: tbs => sign('sha256', tbs, { key: privateKey, dsaEncoding: 'der' }),
  })
  return certificatePem(der)
}

/**
 * The device's certificate and key from their PEM files, made and stored readable by the owner only when both are missing, or when an
 * earlier start was cut off after it had stored the key. Throws `ConfigError` when one is missing, unreadable or does not fit the
 * other (protocol 8.1).
 */
export async function loadDeviceCertificate(
  certificatePath: string,
  keyPath: string,
): Promise<DeviceCertificate> {
  const found = await readOrCreate(certificatePath, keyPath)
  check(found, certificatePath, keyPath)
  // A key that others may read is mended where we may; a read-only file system is the operator's choice.
  await chmod(keyPath, 0o600).catch(() => {})
  return found
}

/** The certificate and key that are stored now. Throws `ConfigError` when they cannot be used, for instance while they are replaced. */
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

/** SHA-256 of the leaf certificate as people see it in the console: `AA:BB:…` (protocol 6.5). */
export function certificateFingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256
}

/**
 * The key is stored first, and the certificate is made for the key that is stored: whatever cuts this off, the next start goes on, and
 * agents that start together end up with one pair.
 */
async function readOrCreate(certificatePath: string, keyPath: string): Promise<DeviceCertificate> {
  // In this order: what another agent stores meanwhile never looks like a certificate without its key.
  const certificatePem = await readIfThere('ssl-cert', certificatePath)
  const found = await readIfThere('ssl-key', keyPath)
  if (certificatePem !== undefined) {
    if (found === undefined) throw oneMissing(certificatePath, keyPath)
    return { certificatePem, keyPem: found }
  }
  const keyPem = found ?? (await storeOnce('ssl-key', keyPath, createDeviceCertificate().keyPem))
  const key = parse('ssl-key', keyPath, 'a PEM private key', () => createPrivateKey(keyPem))
  // Another kind of key was never ours: its certificate got lost.
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw oneMissing(keyPath, certificatePath)
  return { certificatePem: await storeOnce('ssl-cert', certificatePath, selfSignedPem(key)), keyPem }
}

/** Stores a text where there is none yet; resolves to what is stored then. */
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

import { createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { chmod, readFile } from 'node:fs/promises'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { certificatePem, selfSignedDer } from './certificate-der.ts'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'
import { createFileOnce } from './file-once.ts'

/** What a device proves itself with: the text of its PEM files, the leaf certificate first. */
export type DeviceCertificate = { certificatePem: string; keyPem: string }

const OTHER_PROCESS_POLLS = 20
const OTHER_PROCESS_POLL_MS = 100

/** A new key and a self-signed certificate for it (protocol 1.3). */
export function createDeviceCertificate(commonName = 'muster agent'): DeviceCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const der = selfSignedDer({
    commonName,
    serial,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    sign: tbs => sign('sha256', tbs, { key: privateKey, dsaEncoding: 'der' }),
  })
  return {
    certificatePem: certificatePem(der),
    keyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

/**
 * The device's certificate and key from their PEM files, made and stored readable by the owner only when both are missing. Throws
 * `ConfigError` when one is missing, unreadable or does not fit the other (protocol 8.1).
 */
export async function loadDeviceCertificate(
  certificatePath: string,
  keyPath: string,
): Promise<DeviceCertificate> {
  const found = (await read(certificatePath, keyPath)) ?? (await create(certificatePath, keyPath))
  check(found, certificatePath, keyPath)
  // A key that others may read is mended where we may; a read-only file system is the operator's choice.
  await chmod(keyPath, 0o600).catch(() => {})
  return found
}

/** SHA-256 of the leaf certificate as people see it in the console: `AA:BB:…` (protocol 6.5). */
export function certificateFingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256
}

async function create(certificatePath: string, keyPath: string): Promise<DeviceCertificate> {
  const made = createDeviceCertificate()
  try {
    if (await createFileOnce(keyPath, made.keyPem)) {
      if (await createFileOnce(certificatePath, made.certificatePem)) return made
    }
  } catch (error) {
    throw new ConfigError(
      `ssl-cert, ssl-key: found ${codeOf(error)} writing ${certificatePath} and ${keyPath}, expected a writable folder`,
      { cause: error },
    )
  }
  // Another agent is at it at this very moment: it has written the key and is about to write the certificate.
  for (let poll = 0; poll < OTHER_PROCESS_POLLS; poll++) {
    await sleepFor(OTHER_PROCESS_POLL_MS)
    const found = await read(certificatePath, keyPath).catch(() => undefined)
    if (found) return found
  }
  throw oneMissing(certificatePath, keyPath)
}

async function read(certificatePath: string, keyPath: string): Promise<DeviceCertificate | undefined> {
  const certificatePem = await readIfThere('ssl-cert', certificatePath)
  const keyPem = await readIfThere('ssl-key', keyPath)
  if (certificatePem === undefined && keyPem === undefined) return undefined
  if (certificatePem === undefined) throw oneMissing(keyPath, certificatePath)
  if (keyPem === undefined) throw oneMissing(certificatePath, keyPath)
  return { certificatePem, keyPem }
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

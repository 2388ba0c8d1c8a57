import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto'

/** Content of the two signatures of a renewal, one by the current key and one by the next key. Fingerprints as in docs/protocol.md 6.5. */
export type Renewal = { deviceId: string; currentFingerprint: string; nextFingerprint: string }

/** Certificate and private key of a device, as PEM text. */
type Pair = { certificatePem: string; keyPem: string }

/** Both certificates of a renewal as PEM text, and a signature with the key of each in base64 (docs/protocol.md 1.8). */
export type RenewalProof = {
  currentCertificate: string
  currentSignature: string
  nextCertificate: string
  nextSignature: string
}

/** Types of keys that can sign a renewal, each with the digest of its signature. Those of Edwards curves have none. */
const DIGESTS: Partial<Record<string, string | null>> = {
  ec: 'sha256',
  rsa: 'sha256',
  ed25519: null,
  ed448: null,
}

/** Whether a key is of a type that can sign a renewal. */
export function canSignRenewal({ asymmetricKeyType }: KeyObject): boolean {
  return Object.hasOwn(DIGESTS, String(asymmetricKeyType))
}

/** Whether the key of a certificate made this signature of a renewal. False for keys of other types, and for a broken signature. */
export function isRenewalSigned(renewal: Renewal, key: KeyObject, signature: string): boolean {
  if (!canSignRenewal(key)) return false
  try {
    return verify(digestOf(key), textOf(renewal), key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** Proves that a device holds the keys of its current certificate and of its next one. Throws for keys of other types. */
export function proveRenewal(deviceId: string, current: Pair, next: Pair): RenewalProof {
  const currentCertificate = new X509Certificate(current.certificatePem)
  const nextCertificate = new X509Certificate(next.certificatePem)
  const text = textOf({
    deviceId,
    currentFingerprint: currentCertificate.fingerprint256,
    nextFingerprint: nextCertificate.fingerprint256,
  })
  const signatureBy = ({ keyPem }: Pair) => {
    const key = createPrivateKey(keyPem)
    return sign(digestOf(key), text, key).toString('base64')
  }
  return {
    currentCertificate: currentCertificate.toString(),
    currentSignature: signatureBy(current),
    nextCertificate: nextCertificate.toString(),
    nextSignature: signatureBy(next),
  }
}

function digestOf({ asymmetricKeyType }: KeyObject): string | null {
  const digest = DIGESTS[String(asymmetricKeyType)]
  if (digest === undefined)
    throw new TypeError(`found a key of type ${asymmetricKeyType}, expected EC, RSA, Ed25519 or Ed448`)
  return digest
}

/** The device is part of the text, so that no other device can use the signature, and both certificates, so that it fits no other renewal. */
function textOf({ deviceId, currentFingerprint, nextFingerprint }: Renewal): Buffer {
  return Buffer.from(`muster certificate renewal\n${deviceId}\n${currentFingerprint}\n${nextFingerprint}\n`)
}

import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

/** DER of the algorithm identifier ecdsa-with-SHA256 (1.2.840.10045.4.3.2). */
const ECDSA_WITH_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_KEY_ID = Buffer.from('0603551d0e', 'hex')
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')
const POINT_BYTES = 65

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  utf8: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
}

type CertificateParts = {
  commonName: string
  /** Serial number of up to 20 bytes. The first byte must be from 0x01 to 0x7f. */
  serial: Uint8Array
  /** P-256 public key in DER, as `KeyObject.export` returns it for type `spki`. */
  publicKey: Uint8Array
  /** Signs the TBSCertificate bytes with ECDSA over SHA-256. Returns the signature in DER. */
  sign: (tbs: Uint8Array) => Uint8Array
}

/** Creates a P-256 key and a self-signed certificate for it, both as PEM text (docs/protocol.md 1.3). */
export function createCertificate(commonName: string): { certificatePem: string; keyPem: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    certificatePem: selfSignedPem(privateKey, commonName),
    keyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

/** Creates a self-signed certificate for a P-256 key, as PEM text. */
export function selfSignedPem(privateKey: KeyObject, commonName: string): string {
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
 * Creates the DER of a self-signed certificate like those of the published Nexigon agents: P-256 key, valid from 1975 to 4096,
 * basic constraints CA:FALSE, subject key identifier, no other extension (docs/protocol.md 1.3). Node can read certificates but not
 * create them.
 */
export function selfSignedDer({ commonName, serial, publicKey, sign }: CertificateParts): Buffer {
  const name = tlv(
    TAG.sequence,
    tlv(TAG.set, tlv(TAG.sequence, COMMON_NAME, tlv(TAG.utf8, Buffer.from(commonName)))),
  )
  const keyId = createHash('sha1').update(publicKey.subarray(-POINT_BYTES)).digest()
  const tbs = tlv(
    TAG.sequence,
    tlv(0xa0, tlv(TAG.integer, Buffer.of(2))),
    tlv(TAG.integer, serial),
    ECDSA_WITH_SHA256,
    name,
    tlv(
      TAG.sequence,
      tlv(TAG.utcTime, Buffer.from('750101000000Z')),
      tlv(TAG.time, Buffer.from('40960101000000Z')),
    ),
    name,
    publicKey,
    tlv(
      0xa3,
      tlv(
        TAG.sequence,
        tlv(TAG.sequence, SUBJECT_KEY_ID, tlv(TAG.octets, tlv(TAG.octets, keyId))),
        tlv(
          TAG.sequence,
          BASIC_CONSTRAINTS,
          tlv(TAG.boolean, Buffer.of(0xff)),
          tlv(TAG.octets, tlv(TAG.sequence)),
        ),
      ),
    ),
  )
  return tlv(TAG.sequence, tbs, ECDSA_WITH_SHA256, tlv(TAG.bits, Buffer.of(0), sign(tbs)))
}

/** Encodes an ECDSA signature in DER from its integers r and s, 32 bytes each. */
export function signatureDer(r: Uint8Array, s: Uint8Array): Buffer {
  return tlv(TAG.sequence, tlv(TAG.integer, positive(r)), tlv(TAG.integer, positive(s)))
}

/** PEM text of a certificate. */
export function certificatePem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Shortest DER content of a positive integer: no leading zero bytes, except a single zero byte before a set top bit. */
function positive(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex(byte => byte !== 0)
  const digits = bytes.subarray(start)
  return digits[0]! < 0x80 ? digits : Buffer.concat([Buffer.of(0), digits])
}

function tlv(tag: number, ...parts: Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(header), ...parts])
}

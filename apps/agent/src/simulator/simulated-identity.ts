import { createECDH, createHash, createHmac, createPrivateKey } from 'node:crypto'
import { certificatePem, selfSignedDer, signatureDer } from '@muster/link/certificate'
import type { DeviceCertificate } from '../certificate.ts'
import { fingerprintOf } from '../fingerprint.ts'

/** Order of the group of P-256: the number of its points. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const SPKI_HEADER = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')

/**
 * Derives the fingerprint and certificate of a simulated device, including the certificate's signature, from seed and index. The
 * same seed thus gives the same devices on any machine without stored state. Anybody who knows the seed can impersonate all devices
 * of the fleet.
 */
export function simulatedIdentity(
  seed: string,
  index: number,
): { fingerprint: string; certificate: DeviceCertificate } {
  const secret = createHmac('sha256', 'muster simulator').update(`${seed}/${index}`).digest()
  const key = scalarOf(secret, 'key')
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(bytesOf(key))
  const point = curve.getPublicKey()
  const der = selfSignedDer({
    commonName: `muster simulator ${index}`,
    serial: Buffer.concat([
      Buffer.of(0x51),
      createHmac('sha256', secret).update('serial').digest().subarray(0, 15),
    ]),
    publicKey: Buffer.concat([SPKI_HEADER, point]),
    sign: tbs => sign(tbs, key, secret),
  })
  return {
    fingerprint: fingerprintOf(createHmac('sha256', secret).update('fingerprint').digest()),
    certificate: {
      certificatePem: certificatePem(der),
      // The PEM key is computed on demand, because only TLS needs it and computing it takes longer than all other parts.
      get keyPem() {
        return privateKeyPem(key, point)
      },
    },
  }
}

/**
 * Signs by ECDSA with a nonce derived from key and message, similar to RFC 6979. Node offers only randomised ECDSA, with which
 * each call would create a different certificate. OpenSSL does the multiplication on the curve.
 */
function sign(message: Uint8Array, key: bigint, secret: Buffer): Buffer {
  const digest = createHash('sha256').update(message).digest()
  const nonce = scalarOf(secret, digest.toString('hex'))
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(bytesOf(nonce))
  const r = numberOf(curve.getPublicKey().subarray(1, 33)) % ORDER
  const s = (inverse(nonce) * ((numberOf(digest) + r * key) % ORDER)) % ORDER
  return signatureDer(bytesOf(r), bytesOf(s))
}

function privateKeyPem(key: bigint, point: Buffer): string {
  const [d, x, y] = [bytesOf(key), point.subarray(1, 33), point.subarray(33)].map(part =>
    part.toString('base64url'),
  )
  const jwk = { kty: 'EC', crv: 'P-256', d: d!, x: x!, y: y! }
  return createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** A number from 1 (inclusive) to the order of the group (exclusive), derived from secret and purpose. */
function scalarOf(secret: Buffer, purpose: string): bigint {
  return (numberOf(createHmac('sha512', secret).update(purpose).digest()) % (ORDER - 1n)) + 1n
}

/** The inverse modulo the order of the group, by the extended Euclidean algorithm. */
function inverse(value: bigint): bigint {
  let [r, nextR, t, nextT] = [ORDER, value, 0n, 1n]
  while (nextR !== 0n) {
    const quotient = r / nextR
    ;[r, nextR] = [nextR, r - quotient * nextR]
    ;[t, nextT] = [nextT, t - quotient * nextT]
  }
  return t < 0n ? t + ORDER : t
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function bytesOf(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}

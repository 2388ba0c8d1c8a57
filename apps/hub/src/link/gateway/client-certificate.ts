import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { isLoopback } from '@muster/actions'
import type { Config } from '../../platform/config/config.ts'
import { isLoopbackAddress, remoteAddress, trustedProxy } from '../../platform/net/trusted-proxy.ts'
import { Refusal } from './refusal.ts'

/**
 * Maximum length of `X-Client-Cert` in bytes, enough for a chain of several certificates. Node responds with 431 when all headers
 * together exceed 16 KiB.
 */
const MAX_HEADER_BYTES = 12 * 1024

/** A certificate that a device has shown. `expiresAt` is undefined where the end of its validity cannot be read. */
export type ShownCertificate = { fingerprint: string; expiresAt: Date | undefined }

/**
 * Creates the function that reads a device's certificate: from its TLS connection, else from `X-Client-Cert`. The
 * function trusts the header in three cases (docs/protocol.md R-2): MUSTER_ALLOW_PLAINTEXT_DEVICES is set, the request comes from a
 * trusted proxy, or the request comes over plain HTTP from loopback while MUSTER_PUBLIC_URL is a loopback address. It throws `Refusal`
 * with 403 for a missing, untrusted or expired certificate, and with 400 for a header that is too long or does not parse.
 */
export function certificateReader(config: Config): (request: IncomingMessage) => ShownCertificate {
  const isProxy = trustedProxy(config)
  const isLocalHub = isLoopback(config.publicUrl)
  return request => {
    // A certificate proven in this TLS handshake has priority over the header.
    const isTls = request.socket instanceof TLSSocket
    const proven = isTls ? (request.socket as TLSSocket).getPeerX509Certificate() : undefined
    if (proven) return shown(proven)
    const header = request.headers['x-client-cert']
    const isBelieved =
      config.allowPlaintextDevices ||
      isProxy(request) ||
      (isLocalHub && !isTls && isLoopbackAddress(remoteAddress(request)))
    if (typeof header !== 'string' || header === '')
      throw new Refusal('certificate_missing', 403, 'Forbidden', 'no client certificate')
    if (!isBelieved) {
      throw new Refusal(
        'certificate_invalid',
        403,
        'Forbidden',
        'a certificate in X-Client-Cert is not believed on this connection; expected HTTPS',
      )
    }
    if (header.length > MAX_HEADER_BYTES)
      throw new Refusal('certificate_invalid', 400, 'Invalid', 'X-Client-Cert is longer than 12 KiB')
    return shown(parse(header))
  }
}

/**
 * Returns the SHA-256 fingerprint of a certificate (docs/protocol.md 6.5) and its end. Throws `Refusal` when it has expired. A certificate that is
 * not valid yet is accepted, because clocks of devices are often wrong.
 */
function shown({ fingerprint256: fingerprint, validToDate }: X509Certificate): ShownCertificate {
  const endMs = validToDate.getTime()
  if (endMs < Date.now())
    throw new Refusal(
      'certificate_expired',
      403,
      'Forbidden',
      `certificate expired at ${validToDate.toISOString()}`,
    )
  return { fingerprint, expiresAt: Number.isNaN(endMs) ? undefined : validToDate }
}

/** Parses the first certificate of percent-encoded PEM text (docs/protocol.md R-3). */
function parse(header: string): X509Certificate {
  try {
    return new X509Certificate(decodeURIComponent(header))
  } catch {
    throw new Refusal(
      'certificate_invalid',
      400,
      'Invalid',
      'X-Client-Cert does not hold a certificate in percent-encoded PEM',
    )
  }
}

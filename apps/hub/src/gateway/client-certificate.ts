import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { isLoopback } from '@muster/actions'
import type { Config } from '../config.ts'
import { remoteAddress, trustedProxy } from '../net/trusted-proxy.ts'
import { Refusal } from './refusal.ts'

/** A chain of several certificates fits; Node takes 16 KiB of headers in all and answers 431 beyond. */
const MAX_HEADER_BYTES = 12 * 1024

/**
 * Reads the fingerprint of a device's certificate: the one of its TLS connection, else from `X-Client-Cert`, believed only from a
 * trusted proxy, or over plain HTTP from this machine while the hub is reached on this machine only, or with
 * MUSTER_ALLOW_PLAINTEXT_DEVICES. Throws `Refusal` with 403 when there is none to believe or its time is over, and 400 when
 * it does not parse.
 */
export function certificateReader(config: Config): (request: IncomingMessage) => string {
  const isProxy = trustedProxy(config)
  const isLocalHub = isLoopback(config.publicUrl)
  return request => {
    // What the device proved to this very process comes before whatever anybody says.
    const isTls = request.socket instanceof TLSSocket
    const proven = isTls ? (request.socket as TLSSocket).getPeerX509Certificate() : undefined
    if (proven) return fingerprintOf(proven)
    const header = request.headers['x-client-cert']
    const isBelieved =
      config.allowPlaintextDevices ||
      isProxy(request) ||
      (isLocalHub && !isTls && isLoopbackAddress(remoteAddress(request)))
    if (typeof header !== 'string' || header === '')
      throw new Refusal(403, 'Forbidden', 'no client certificate')
    if (!isBelieved) {
      throw new Refusal(
        403,
        'Forbidden',
        'a certificate in X-Client-Cert is not believed on this connection; expected HTTPS',
      )
    }
    if (header.length > MAX_HEADER_BYTES)
      throw new Refusal(400, 'Invalid', 'X-Client-Cert is longer than 12 KiB')
    return fingerprintOf(parse(header))
  }
}

/** Upper-case SHA-256 pairs of a certificate (protocol 6.5). One that is not valid yet may come of a device whose clock is wrong. */
function fingerprintOf(certificate: X509Certificate): string {
  if (certificate.validToDate.getTime() < Date.now())
    throw new Refusal(403, 'Forbidden', `certificate expired at ${certificate.validToDate.toISOString()}`)
  return certificate.fingerprint256
}

/** The first certificate of percent-encoded PEM text. */
function parse(header: string): X509Certificate {
  try {
    return new X509Certificate(decodeURIComponent(header))
  } catch {
    throw new Refusal(400, 'Invalid', 'X-Client-Cert does not hold a certificate in percent-encoded PEM')
  }
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

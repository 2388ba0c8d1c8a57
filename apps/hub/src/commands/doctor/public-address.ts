import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopback } from '@muster/actions'
import { CHECK_HEADER, CONNECT_PATH } from '../../platform/net/paths.ts'
import { type Finding, failure, ok, type Probe, warning } from '../../platform/operator/finding.ts'
import { get } from '../http-get.ts'

/** Days before the end of a certificate from which doctor warns, as the alert `MusterCertificateEnds` does. */
const WARN_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000

/** Checks of `MUSTER_PUBLIC_URL` from this machine: name, hub behind it, certificate, and WebSockets of devices. */
export function addressProbes(publicUrl: string): Probe[] {
  const url = new URL(publicUrl)
  const advice = 'Start the hub, or check the proxy and the firewall in front of it, and MUSTER_PUBLIC_URL.'
  return [
    {
      name: 'name',
      run: async () => checkName(url),
      advice: `Add ${url.hostname} to the DNS, or correct MUSTER_PUBLIC_URL.`,
    },
    { name: 'address', run: signal => checkHub(url, signal), advice },
    ...(url.protocol === 'https:'
      ? [{ name: 'certificate', run: (signal: AbortSignal) => checkCertificate(url, signal), advice }]
      : []),
    { name: 'web sockets', run: signal => checkUpgrade(url, signal), advice },
  ]
}

async function checkName({ hostname, protocol, origin }: URL): Promise<Finding[]> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const { address } = isIP(host) === 0 ? await lookup(host) : { address: host }
  const found = ok(isIP(host) === 0 ? `${host} is ${address}.` : `${host} is an address.`)
  if (protocol === 'https:' || isLoopback(origin)) return [found]
  return [
    found,
    warning(
      `MUSTER_PUBLIC_URL is ${origin}: passwords and tokens cross the network as plain text.`,
      'Use https, with MUSTER_TLS_CERT or a proxy in front.',
    ),
  ]
}

async function checkHub(url: URL, signal: AbortSignal): Promise<Finding> {
  const health = await get(new URL('/healthz', url), signal)
  if (health.status !== 200 || !health.body.includes('"status":"alive"'))
    return failure(
      `${url.origin}/healthz answers ${health.status}, but not as a hub.`,
      'Point the proxy at MUSTER_HOST and MUSTER_PORT of this hub.',
    )
  const page = await get(new URL('/', url), signal)
  if (page.status === 421)
    return failure(
      `The hub gets requests for ${url.origin} under another host name.`,
      'Let the proxy pass on the Host header.',
    )
  return ok(`The hub answers at ${url.origin}.`)
}

async function checkCertificate(url: URL, signal: AbortSignal): Promise<Finding> {
  const { certificate } = await get(new URL('/healthz', url), signal)
  const { endsAt, problem } = certificate!
  const leftDays = Math.floor((endsAt.getTime() - Date.now()) / DAY_MS)
  const ends = `ends on ${endsAt.toISOString().slice(0, 10)}, in ${leftDays} days`
  const advice = 'Renew it where MUSTER_TLS_CERT or the proxy has it; a hub loads a new file by itself.'
  if (leftDays < 0) return failure(`The certificate of ${url.host} has ended.`, advice)
  if (problem !== undefined)
    return failure(
      `Browsers and devices that trust public authorities only refuse the certificate of ${url.host} (${problem}); it ${ends}.`,
      'Use a certificate of a trusted authority for this name, or add your authority to browsers and devices.',
    )
  return leftDays < WARN_DAYS
    ? warning(`The certificate ${ends}.`, advice)
    : ok(`The certificate is trusted and ${ends}.`)
}

/** Requests an upgrade without credentials. The hub refuses it in a way that differs from that for a request without an upgrade. */
async function checkUpgrade(url: URL, signal: AbortSignal): Promise<Finding> {
  const { status, body } = await get(new URL(CONNECT_PATH, url), signal, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    [CHECK_HEADER]: '1',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'bXVzdGVyIGRvY3RvciA0Mg==',
  })
  if (status === 426)
    return failure(
      'The proxy passes requests for WebSockets on without their upgrade, so devices cannot connect.',
      'Let it pass on the headers Upgrade and Connection with HTTP/1.1 (docs/operating.md has examples).',
    )
  // The gateway answers JSON with the kind of the refusal.
  if ((status === 401 || status === 403) && body.includes('"kind"'))
    return ok('Upgrades to WebSockets reach the hub.')
  return failure(
    `A request for a WebSocket is answered ${status}, and not by the hub.`,
    `Let the proxy pass ${CONNECT_PATH} on to the hub.`,
  )
}

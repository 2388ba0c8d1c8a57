import { isIP } from 'node:net'
import type { PortTarget } from './open-port-url.ts'
import type { Protocol } from './proxy-tokens.ts'

/**
 * Begin of an absolute HTTP URL, or of one without a scheme, as in redirects: scheme, host and port. The part with a colon is a whole port, so that
 * no name and password are taken for a host.
 */
const BEGIN = /^(?:(https?):)?\/\/(\[[\da-f:.]+\]|[^/?#:@\\[\]]+)(?::(\d{0,5}))?(?=[/?#]|$)/i
/** Time and address of a `Refresh` header, as browsers read it (HTML, "shared declarative refresh steps"). */
const REFRESH = /^(\s{0,8}[\d.]*\s{0,8}[;,]?\s{0,8}(?:url\s{0,8}=\s{0,8})?["']?)([^\s"']+)/i

/** The opened port of a device, and where browsers see its pages. */
export type Place = {
  /** Host name and origin of the page as browsers see them. */
  host: string
  origin: string
  port: number
  protocol: Protocol
  /** Path and query of the request if it asks only to be redirected: it changes nothing, and its answer sets no cookie. */
  asked: string | undefined
  /** Addresses of the device, of those that `addressesIn` finds in its answer. */
  addresses: ReadonlySet<string>
  /** URL that offers to open another port of the device. */
  offer(target: PortTarget): string
}

type Target = PortTarget & { host: string }

/** Reads an address. `path` is the rest of its text, unchanged, and may be empty. Undefined for a relative one, or another scheme. */
function targetOf(address: string, protocol: Protocol): Target | undefined {
  const [begin, scheme = protocol, named, port] = BEGIN.exec(address) ?? []
  if (begin === undefined) return undefined
  // The URL parser gives each spelling of an address its one form, as browsers do.
  const url = URL.parse(`${scheme}://${named}${port ? `:${port}` : ''}/`)
  if (!url) return undefined
  const isHttps = url.protocol === 'https:'
  return {
    host: url.hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (isHttps ? 443 : 80),
    protocol: isHttps ? 'https' : 'http',
    path: address.slice(begin.length),
  }
}

/** True for host names with which a device names itself. In a browser they are the person's own machine. */
function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1?)$/.test(host)
}

/** IP addresses other than loopback ones to which the headers of an answer lead, in their shortest form. */
export function addressesIn(headers: readonly string[]): string[] {
  return headers.flatMap(value => {
    // Without a time, the expression finds a plain address.
    const target = targetOf(REFRESH.exec(value)?.[2] ?? '', 'http')
    return target && isIP(target.host) !== 0 && !isLoopback(target.host) ? [target.host] : []
  })
}

/**
 * The address of a redirect as the browser can reach it. The device's own host name leads to the page's origin, whatever scheme and port it is
 * given with: devices put those of their own listener there. A loopback host and an address of the device lead there if they name the opened port,
 * otherwise to an offer to open that port. Other addresses stay unchanged. None makes the hub reach anything.
 */
export function reachable(address: string, place: Place): string {
  const target = targetOf(address, place.protocol)
  if (!target || !isOfDevice(target, place)) return address
  const path = target.path.startsWith('/') ? target.path : `/${target.path}`
  if (isToHttps(target, place) && path === place.asked) {
    // The device puts the port of the request's `Host` there, which is the hub's, or none.
    const port = String(target.port) === URL.parse(place.origin)!.port ? 443 : target.port
    return place.offer({ port, protocol: 'https', path })
  }
  return isOpened(target, place) ? place.origin + target.path : place.offer({ ...target, path })
}

/** Like `reachable` for an address that only names a document, so it never leads to an offer. */
export function reachableName(address: string, place: Place): string {
  const target = targetOf(address, place.protocol)
  return target && isOfDevice(target, place) && isOpened(target, place) ? place.origin + target.path : address
}

/** The value of a `Refresh` header with an address that the browser can reach. */
export function reachableRefresh(value: string, place: Place): string {
  return value.replace(REFRESH, (_all, time: string, address: string) => time + reachable(address, place))
}

/** True for a redirect from plain HTTP to HTTPS under the same name. To the same path of the page's origin it would go on without end. */
function isToHttps({ host, protocol }: Target, place: Place): boolean {
  return host === place.host && protocol === 'https' && place.protocol === 'http'
}

function isOfDevice({ host }: Target, place: Place): boolean {
  return host === place.host || isLoopback(host) || place.addresses.has(host)
}

function isOpened({ host, port, protocol }: Target, place: Place): boolean {
  return host === place.host || (port === place.port && protocol === place.protocol)
}

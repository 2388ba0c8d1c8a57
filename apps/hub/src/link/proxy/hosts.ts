import { createHash } from 'node:crypto'
import { ActionError, encodeRadix } from '@muster/actions'
import type { Config } from '../../platform/config/config.ts'

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz'
/** Length in characters of a host label that is derived from a device id and a port (docs/protocol.md 6.6). */
const LABEL_LENGTH = 50

/** Port of a device to which a link leads that names none. */
export const DEFAULT_PORT = 80

/**
 * The label of the default host name of a device's port: a hash of the device's id, which does not reveal the id, and of the port unless it is
 * 80 (docs/protocol.md 6.6). Each port has a name of its own, so that a link to one application does not take over the tab of another one.
 */
export function hostLabel(deviceId: string, port = DEFAULT_PORT): string {
  const text = port === DEFAULT_PORT ? deviceId : `${deviceId}:${port}`
  return encodeRadix(createHash('sha256').update(text).digest(), BASE36)
}

/** Query parameter that holds the token in a link to a device's page. A redirect removes it from the URL. */
export const TOKEN_PARAMETER = 'muster_token'

/** Decides which hosts belong to devices: names below the proxy domain, except the hub's own names. */
export class ProxyHosts {
  readonly #hub: URL
  readonly #own: ReadonlySet<string>
  readonly #domain: string | undefined
  /** Cached result for the last `Host` header. All devices of a fleet that reconnects send the same header. */
  #latest: { header: string | undefined; host: string | undefined } = { header: undefined, host: undefined }

  constructor({ proxyDomain, hosts }: Pick<Config, 'proxyDomain' | 'hosts'>, publicUrl: string) {
    this.#hub = new URL(publicUrl)
    this.#own = new Set([this.#hub.hostname, ...hosts])
    this.#domain = proxyDomain
  }

  /** The proxy domain; throws `Invalid` when none is set. */
  get domain(): string {
    if (this.#domain !== undefined) return this.#domain
    throw new ActionError(
      'Invalid',
      'This hub has no domain for the web pages of devices: its operator sets MUSTER_PROXY_DOMAIN.',
    )
  }

  /**
   * The device host in a `Host` header, in lower case and without port; undefined for the hub's own names and for foreign names.
   */
  deviceHost(hostHeader: string | undefined): string | undefined {
    if (hostHeader !== this.#latest.header)
      this.#latest = { header: hostHeader, host: this.#deviceHost(hostHeader) }
    return this.#latest.host
  }

  #deviceHost(hostHeader: string | undefined): string | undefined {
    if (this.#domain === undefined) return undefined
    const host = URL.parse(`http://${hostHeader ?? ''}`)?.hostname
    return host?.endsWith(`.${this.#domain}`) && !this.#own.has(host) ? host : undefined
  }

  /** The default host name of a device's port. Throws `Invalid` when no proxy domain is set. */
  defaultHost(deviceId: string, port: number): string {
    return `${hostLabel(deviceId, port)}.${this.domain}`
  }

  /**
   * Whether a user may choose this host name: a single label below the proxy domain. A name that the hub itself uses, or that
   * could be the default name of a device, may not be chosen.
   */
  mayBeChosen(host: string): boolean {
    const suffix = `.${this.domain}`
    const label = host.slice(0, -suffix.length)
    return (
      host.endsWith(suffix) &&
      !this.#own.has(host) &&
      /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label) &&
      label.length !== LABEL_LENGTH
    )
  }

  /** The origin of a host as browsers see it. */
  originOf(host: string): string {
    const { protocol, port } = this.#hub
    return `${protocol}//${host}${port && `:${port}`}`
  }

  /** The URL that a browser first opens for a device's page. It contains the token. */
  linkTo(host: string, jwt: string): string {
    return `${this.originOf(host)}/?${TOKEN_PARAMETER}=${jwt}`
  }
}

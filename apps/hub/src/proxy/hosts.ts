import { createHash } from 'node:crypto'
import { ActionError, encodeRadix } from '@muster/actions'
import type { Config } from '../config.ts'

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz'
/** Length of the label of any id (protocol 6.6). */
const LABEL_LENGTH = 50

/** The label under which a device's own host name stands, told from its id and telling nothing of it (protocol 6.6). */
export function hostLabel(deviceId: string): string {
  return encodeRadix(createHash('sha256').update(deviceId).digest(), BASE36)
}

/** Search parameter in which a token comes; it leaves the address at once. */
export const TOKEN_PARAMETER = 'muster_token'

/** Which hosts are devices': names below the proxy domain, except the hub's own. */
export class ProxyHosts {
  readonly #hub: URL
  readonly #domain: string | undefined
  /** The header looked at last: a fleet that comes back sends one and the same. */
  #latest: { header: string | undefined; host: string | undefined } = { header: undefined, host: undefined }

  constructor({ proxyDomain }: Pick<Config, 'proxyDomain'>, publicUrl: string) {
    this.#hub = new URL(publicUrl)
    this.#domain = proxyDomain
  }

  /** The domain below which the hosts are; throws `Invalid` when the hub has none. */
  get domain(): string {
    if (this.#domain !== undefined) return this.#domain
    throw new ActionError(
      'Invalid',
      'This hub has no domain for the web pages of devices: its operator sets MUSTER_PROXY_DOMAIN.',
    )
  }

  /** The device host that a `Host` header names, without port and in lower case; nothing for the hub's own and foreign ones. */
  deviceHost(hostHeader: string | undefined): string | undefined {
    if (hostHeader !== this.#latest.header)
      this.#latest = { header: hostHeader, host: this.#deviceHost(hostHeader) }
    return this.#latest.host
  }

  #deviceHost(hostHeader: string | undefined): string | undefined {
    if (this.#domain === undefined) return undefined
    const host = URL.parse(`http://${hostHeader ?? ''}`)?.hostname
    return host !== this.#hub.hostname && host?.endsWith(`.${this.#domain}`) ? host : undefined
  }

  /** The host name of a device when nobody chose another. */
  defaultHost(deviceId: string): string {
    return `${hostLabel(deviceId)}.${this.domain}`
  }

  /** Whether a host name may be chosen: one label below the proxy domain that looks like no device's own and is not the hub's. */
  mayBeChosen(host: string): boolean {
    const suffix = `.${this.domain}`
    const label = host.slice(0, -suffix.length)
    return (
      host.endsWith(suffix) &&
      host !== this.#hub.hostname &&
      /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label) &&
      label.length !== LABEL_LENGTH
    )
  }

  /** How the addresses below a host begin for browsers. */
  originOf(host: string): string {
    const { protocol, port } = this.#hub
    return `${protocol}//${host}${port && `:${port}`}`
  }

  /** The address with which a browser comes in for the first time. */
  linkTo(host: string, jwt: string): string {
    return `${this.originOf(host)}/?${TOKEN_PARAMETER}=${jwt}`
  }
}

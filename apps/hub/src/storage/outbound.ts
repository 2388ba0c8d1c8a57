import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type BlockList, isIP } from 'node:net'
import { familyOf, networkList } from '../networks.ts'

/** An address that the hub does not connect to; the message says why. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** Networks that are not the public internet (IANA's special-purpose registries), by family. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/** Of IPv6 only this is public… */
const PUBLIC_V6 = ['2000::/3']
/** …without what stands for IPv4 addresses, for tests and for documents. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const notPublic = networkList([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6])
const publicV6 = networkList(PUBLIC_V6)

type Address = { address: string; family: number }
/** Finds the addresses of a host name. */
export type LookUp = (hostname: string) => Promise<Address[]>

export type OutboundRequest = {
  method: string
  headers: Record<string, string>
  signal: AbortSignal
  /** Sends the body and ends the request; without it there is none. */
  send?: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>
}

const SILENCE_MS = 60_000
/** How long a body waits for the word to come, in milliseconds. */
const CONTINUE_MS = 2_000

/**
 * Requests of the hub to addresses that its users name (goal S9). A host is looked up once, every address of it must be public or
 * in a network that the operator allows, and the connection goes to the very address that was looked at. Redirects are answers.
 */
export class Outbound {
  readonly #allowed: BlockList | 'everything'
  readonly #lookUp: LookUp
  readonly #silenceMs: number

  /**
   * `allowed` are networks in CIDR form, or everything where the operator named the address; `silenceMs` is how long the other side
   * may be silent, connecting included.
   */
  constructor(
    allowed: readonly string[] | 'everything',
    lookUp: LookUp = hostname => lookup(hostname, { all: true }),
    silenceMs = SILENCE_MS,
  ) {
    this.#allowed = allowed === 'everything' ? allowed : networkList(allowed)
    this.#lookUp = lookUp
    this.#silenceMs = silenceMs
  }

  /** Sends a request; resolves to the head of its answer, whose body is for reading. Throws `AddressRefused`. */
  async request(url: URL, { method, headers, signal, send }: OutboundRequest): Promise<IncomingMessage> {
    const pinned = await this.#addressOf(url)
    signal.throwIfAborted()
    return new Promise((done, failed) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method,
        headers: { ...headers, ...(send && { expect: '100-continue' }) },
        signal,
        // No connection of another request, which another look-up may have allowed.
        agent: false,
        family: pinned.family,
        lookup: (_hostname, { all }, found) =>
          all ? found(null, [pinned]) : found(null, pinned.address, pinned.family),
      })
      // While the body has a pause it is not the other side that is silent.
      let isItsTurn = true
      request.setTimeout(this.#silenceMs, () => {
        if (isItsTurn) request.destroy(silence(this.#silenceMs))
      })
      request.once('response', done)
      request.on('error', failed)
      if (!send) {
        request.end()
        return
      }
      let isStarted = false
      const start = (): void => {
        if (isStarted) return
        isStarted = true
        isItsTurn = false
        const write = bodyOf(request)
        const writeInTurn = async (chunk: Uint8Array): Promise<void> => {
          isItsTurn = true
          await write(chunk)
          isItsTurn = false
        }
        send(writeInTurn).then(
          () => {
            isItsTurn = true
            request.end()
          },
          error => {
            failed(error)
            // Half of a body must not look like a whole one.
            request.destroy()
          },
        )
      }
      // Who refuses says so before the body is sent; who does not know the question just waits for the body.
      request.once('continue', start)
      request.flushHeaders()
      const timer = setTimeout(start, CONTINUE_MS)
      request.once('response', () => {
        clearTimeout(timer)
        isStarted = true
      })
      request.once('close', () => clearTimeout(timer))
    })
  }

  /** The one address that a URL leads to. */
  async #addressOf({ protocol, hostname }: URL): Promise<Address> {
    if (protocol !== 'https:' && protocol !== 'http:')
      throw new AddressRefused(`The endpoint begins with ${protocol}, expected http: or https:.`)
    const host = hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await this.#lookUp(host)
    // One that is not public among public ones is no accident.
    for (const { address } of addresses) {
      if (!this.#isAllowed(address))
        throw new AddressRefused(
          `The endpoint leads to ${address}, which is not a public address: the operator of the hub must allow it (MUSTER_OUTBOUND_ALLOW).`,
        )
    }
    return addresses[0]!
  }

  #isAllowed(address: string): boolean {
    if (this.#allowed === 'everything') return true
    const family = familyOf(address)
    if (this.#allowed.check(address, family)) return true
    // An IPv4 address in the form of IPv6 is looked at as what it is by both lists.
    const isMapped = family === 'ipv6' && /^::ffff:/i.test(address)
    if (family === 'ipv6' && !isMapped && !publicV6.check(address, family)) return false
    return !notPublic.check(address, family)
  }
}

/** Writes to a request with its pace; fails when the request does. */
function bodyOf(request: ClientRequest): (chunk: Uint8Array) => Promise<void> {
  let fail: (error: Error) => void = () => {}
  request.once('close', () => fail(new Error('The connection ended before the body was sent.')))
  return chunk =>
    new Promise((written, broken) => {
      fail = broken
      request.write(chunk, error => (error ? broken(error) : written()))
    })
}

function silence(afterMs: number): Error {
  return Object.assign(new Error(`nothing came for ${afterMs / 1000} seconds`), { code: 'ETIMEDOUT' })
}

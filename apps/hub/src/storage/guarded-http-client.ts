import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { familyOf, networkList } from '../net/networks.ts'

/**
 * An endpoint that the hub does not connect to. One text for every reason, so that nobody learns which internal names exist and where
 * they lead; `address` is for the hub's own log.
 */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly address: string | undefined

  constructor(address?: string, cause?: unknown) {
    super(
      'The endpoint has no address or one that is not a public address of another machine: check its name, or have the operator of the hub allow it (MUSTER_OUTBOUND_ALLOW).',
      { cause },
    )
    this.address = address
  }
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

export type GuardedRequest = {
  method: string
  headers: Record<string, string>
  signal: AbortSignal
  /** Sends the body and ends the request; without it there is none. */
  send?: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>
}

const TIMEOUT_MS = 60_000
/** How long a body waits for the word to come, in milliseconds. */
const CONTINUE_MS = 2_000

/**
 * Requests of the hub to addresses that its users name. A host is looked up once, every address of it must be public or
 * in a network that the operator allows, and the connection goes to the very address that was looked at. Redirects are answers.
 */
export class GuardedHttpClient {
  readonly #allowed: BlockList | 'everything'
  readonly #denied: BlockList
  readonly #lookUp: LookUp
  readonly #timeoutMs: number
  readonly #own: () => string[]

  /**
   * `allowed` are networks in CIDR form, or everything where the operator named the address. `denied` networks are refused even
   * there: addresses that lead back to the hub without being its own, such as a load balancer's. `timeoutMs` is how long the other
   * side may be silent, connecting included. `own` lists the addresses of this machine.
   */
  constructor(
    allowed: readonly string[] | 'everything',
    {
      denied = [],
      lookUp = hostname => lookup(hostname, { all: true }),
      timeoutMs = TIMEOUT_MS,
      own = ownAddresses,
    }: { denied?: readonly string[]; lookUp?: LookUp; timeoutMs?: number; own?: () => string[] } = {},
  ) {
    this.#allowed = allowed === 'everything' ? allowed : networkList(allowed)
    this.#denied = networkList(denied)
    this.#lookUp = lookUp
    this.#timeoutMs = timeoutMs
    this.#own = own
  }

  /** Sends a request; resolves to the head of its answer, whose body is for reading. Throws `AddressRefused`. */
  async request(url: URL, { method, headers, signal, send }: GuardedRequest): Promise<IncomingMessage> {
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
      request.setTimeout(this.#timeoutMs, () => {
        if (isItsTurn) request.destroy(timeoutError(this.#timeoutMs))
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
    if (protocol !== 'https:' && protocol !== 'http:') throw new AddressRefused()
    const host = hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await this.#found(host)
    // Read at each call: interfaces come and go.
    const own = networkList(this.#own())
    // One that is not public among public ones is no accident.
    for (const { address } of addresses) {
      if (!this.#isAllowed(address, own)) throw new AddressRefused(address)
    }
    return addresses[0]!
  }

  /** The addresses of a host name. An unknown name is refused like one that leads to a private address. */
  async #found(host: string): Promise<Address[]> {
    try {
      return await this.#lookUp(host)
    } catch (error) {
      const isUnknown = (error as NodeJS.ErrnoException).code === 'ENOTFOUND'
      if (!isUnknown || this.#allowed === 'everything') throw error
      throw new AddressRefused(undefined, error)
    }
  }

  #isAllowed(address: string, own: BlockList): boolean {
    if (this.#allowed === 'everything') return true
    const family = familyOf(address)
    if (this.#denied.check(address, family)) return false
    if (this.#allowed.check(address, family)) return true
    if (own.check(address, family)) return false
    // An IPv4 address in the form of IPv6 is looked at as what it is by both lists.
    const isMapped = family === 'ipv6' && /^::ffff:/i.test(address)
    if (family === 'ipv6' && !isMapped && !publicV6.check(address, family)) return false
    return !notPublic.check(address, family)
  }
}

/** The addresses of this machine's interfaces: behind them are the hub itself and its neighbours, however public they look. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(
    interfaces => interfaces?.map(({ address }) => address) ?? [],
  )
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

function timeoutError(afterMs: number): Error {
  return Object.assign(new Error(`nothing came for ${afterMs / 1000} seconds`), { code: 'ETIMEDOUT' })
}

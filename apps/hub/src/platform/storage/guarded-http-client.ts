import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { familyOf, networkList } from '../net/networks.ts'

/**
 * Thrown for an endpoint that the hub must not connect to. The message is the same for every reason, so that it does not disclose
 * internal host names and addresses. `address` is for the hub's log.
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

/**
 * IPv4 networks that are not public, from IANA's special-purpose registry, and 168.63.129.16: a public address under which Azure serves its
 * virtual machines alone.
 */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
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
/** Global unicast, the only range of public IPv6 addresses. */
const PUBLIC_V6 = ['2000::/3']
/** Ranges inside `2000::/3` that are not public: IETF protocols such as Teredo, documentation (two ranges) and 6to4. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const notPublic = networkList([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6])
const publicV6 = networkList(PUBLIC_V6)

type Address = { address: string; family: number }
/** Resolves a host name to its addresses. */
export type LookUp = (hostname: string) => Promise<Address[]>

/** Parameters of `GuardedHttpClient.request`. */
export type GuardedRequest = {
  method: string
  headers: Record<string, string>
  signal: AbortSignal
  /** Total time in milliseconds, from the look-up of the host to the end of the response; by default there is none. */
  deadlineMs?: number
  /** False sends the body at once. Servers that ignore `Expect` would delay it by 2 s. The default is true. */
  expectsContinue?: boolean
  /** Writes the body. The request ends when the promise resolves. A request without `send` has no body. */
  send?: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>
}

const TIMEOUT_MS = 60_000
/** Time that a body waits for `100 Continue` before it is sent anyway: 2 s, in milliseconds. */
const CONTINUE_MS = 2_000

/**
 * HTTP client for URLs that users of the hub enter. All addresses of a host must be public or in a network that the operator allows.
 * The host is resolved once and the connection uses a checked address, against DNS rebinding. Redirects are not followed.
 */
export class GuardedHttpClient {
  readonly #allowed: BlockList | 'everything'
  readonly #denied: BlockList
  readonly #lookUp: LookUp
  readonly #timeoutMs: number
  readonly #own: () => string[]
  readonly #needsTls: boolean

  /**
   * `allowed` lists networks in CIDR form, or is `everything` if the operator chose the address. `denied` lists networks that are refused
   * even inside `allowed` networks, such as the network of a load balancer in front of the hub. `timeoutMs` limits the time without data
   * from the server, including the connect. `own` lists the addresses of this machine. `needsTls` refuses plain HTTP to addresses outside of
   * `allowed`.
   */
  constructor(
    allowed: readonly string[] | 'everything',
    {
      denied = [],
      lookUp = hostname => lookup(hostname, { all: true }),
      timeoutMs = TIMEOUT_MS,
      own = ownAddresses,
      needsTls = false,
    }: {
      denied?: readonly string[]
      lookUp?: LookUp
      timeoutMs?: number
      own?: () => string[]
      needsTls?: boolean
    } = {},
  ) {
    this.#allowed = allowed === 'everything' ? allowed : networkList(allowed)
    this.#denied = networkList(denied)
    this.#lookUp = lookUp
    this.#timeoutMs = timeoutMs
    this.#own = own
    this.#needsTls = needsTls
  }

  /** Sends a request. Resolves when the head of the response arrives; the caller reads the body. Throws `AddressRefused`. */
  async request(
    url: URL,
    { method, headers, signal: ofCaller, deadlineMs, expectsContinue = true, send }: GuardedRequest,
  ): Promise<IncomingMessage> {
    const signal =
      deadlineMs === undefined ? ofCaller : AbortSignal.any([ofCaller, AbortSignal.timeout(deadlineMs)])
    const pinned = await orAborted(this.#addressOf(url), signal)
    return new Promise((done, failed) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method,
        headers: { ...headers, ...(send && expectsContinue && { expect: '100-continue' }) },
        signal,
        // Pooled connections are not reused, because their address may come from another DNS look-up.
        agent: false,
        family: pinned.family,
        lookup: (_hostname, { all }, found) =>
          all ? found(null, [pinned]) : found(null, pinned.address, pinned.family),
      })
      // The timeout counts only while the hub waits for the server, not while the hub's own body pauses.
      let awaitsServer = true
      request.setTimeout(this.#timeoutMs, () => {
        if (awaitsServer) request.destroy(timeoutError(this.#timeoutMs))
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
        awaitsServer = false
        const write = bodyOf(request)
        const writeTimed = async (chunk: Uint8Array): Promise<void> => {
          awaitsServer = true
          await write(chunk)
          awaitsServer = false
        }
        send(writeTimed).then(
          () => {
            awaitsServer = true
            request.end()
          },
          error => {
            failed(error)
            // Destroys the connection, so that the server does not take a truncated body for a complete one.
            request.destroy()
          },
        )
      }
      if (!expectsContinue) {
        start()
        return
      }
      // `Expect: 100-continue` lets a server refuse before the body is sent. Servers that ignore it get the body after a timeout.
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

  /** Checks the addresses of a URL without a connection. Throws `AddressRefused`, or the error of the look-up. */
  async check(url: URL, signal: AbortSignal): Promise<void> {
    await orAborted(this.#addressOf(url), signal)
  }

  /** Resolves the host of a URL, checks all its addresses and returns the first. */
  async #addressOf({ protocol, hostname }: URL): Promise<Address> {
    if (protocol !== 'https:' && protocol !== 'http:') throw new AddressRefused()
    const host = hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await this.#found(host)
    // The machine's own addresses are read at each call, because its interfaces can change while the hub runs.
    const own = networkList(this.#own())
    // Refuses a host if any of its addresses is not allowed, because a mix of allowed and other addresses suggests DNS
    // rebinding.
    for (const { address } of addresses) {
      if (!this.#isAllowed(address, own)) throw new AddressRefused(address)
      if (this.#needsTls && protocol === 'http:' && !this.#isListed(address))
        throw new AddressRefused(address)
    }
    return addresses[0]!
  }

  /** Resolves a host name. An unknown name is refused like a private address, so that internal names are not disclosed. */
  async #found(host: string): Promise<Address[]> {
    try {
      return await this.#lookUp(host)
    } catch (error) {
      const isUnknown = (error as NodeJS.ErrnoException).code === 'ENOTFOUND'
      if (!isUnknown || this.#allowed === 'everything') throw error
      throw new AddressRefused(undefined, error)
    }
  }

  /** Whether the operator allows the address explicitly. */
  #isListed(address: string): boolean {
    return this.#allowed === 'everything' || this.#allowed.check(address, familyOf(address))
  }

  #isAllowed(address: string, own: BlockList): boolean {
    if (this.#allowed === 'everything') return true
    const family = familyOf(address)
    if (this.#denied.check(address, family)) return false
    if (this.#allowed.check(address, family)) return true
    if (own.check(address, family)) return false
    // `BlockList` compares an IPv4-mapped IPv6 address with its IPv4 rules, so only other IPv6 addresses need `publicV6`.
    const isMapped = family === 'ipv6' && /^::ffff:/i.test(address)
    if (family === 'ipv6' && !isMapped && !publicV6.check(address, family)) return false
    return !notPublic.check(address, family)
  }
}

/** Resolves as `work` does, or rejects when `signal` aborts: a look-up of a host name cannot be cancelled. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
    work.catch(() => {})
    promise.catch(() => {})
  }
}

/**
 * Returns the addresses of this machine's interfaces. Even a public address among them leads to the hub itself and to other local
 * services.
 */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(
    interfaces => interfaces?.map(({ address }) => address) ?? [],
  )
}

/** Returns a function that writes a chunk and resolves when it is flushed. Rejects if the request fails or closes. */
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
  return Object.assign(new Error(`received no data for ${afterMs / 1000} s`), { code: 'ETIMEDOUT' })
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError } from '@muster/actions'
import type { Config } from '../config/config.ts'
import { familyOf, networkList } from '../net/networks.ts'
import { CONNECT_PATH, isHealthPath, pathOf } from '../net/paths.ts'
import {
  isLoopbackAddress,
  remoteAddress,
  remoteReader,
  trustedProxy,
  unwrapped,
} from '../net/trusted-proxy.ts'
import type { Logger } from '../runtime/log.ts'
import { countedAs } from './counted-address.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitReports } from './limit-reports.ts'

/** An address of clients, and what it holds. */
type Holder = {
  key: string
  /** IP address, of IPv6 its /64 network. */
  address: string
  /** False for this machine and for trusted proxies, whose connections belong to many clients. */
  isCounted: boolean
  /** Connections of the address, and its requests and WebSockets through trusted proxies. */
  count: number
  /** Bytes of the bodies of unanswered requests, each with at most `COUNTED_BODY_BYTES`. */
  bodyBytes: number
  /** Connections that have sent no request yet, TLS handshakes included, oldest first. */
  unfinished: Set<Connection>
  /** Connections whose requests are all answered, idle for longest first. */
  idle: Set<Connection>
}

type Connection = {
  socket: Socket
  peer: string
  holder: Holder
  /** Number of requests that are not answered yet. */
  requests: number
  isForgotten: boolean
  /** Whether it was accepted while no descriptors were free, for a health check. */
  isExtra: boolean
  close: () => void
}

/**
 * Checks a request before it is handled. Returns the error for a request of an address that holds too much. Ends a connection with too many
 * unanswered requests.
 */
type Admit = (request: IncomingMessage, response: ServerResponse) => ActionError | undefined

type AddressSharesOptions = {
  config: Pick<Config, 'limits' | 'trustedProxies' | 'proxySecret' | 'countsLoopback'>
  maxDescriptors: number
  /** Number of descriptors that HTTP connections and links may hold together. */
  maxConnections: number
  /** Number of descriptors that links hold. */
  heldByLinks: () => number
  /** Reports of limits; undefined until the database is open. */
  reports: () => LimitReports | undefined
  log: Logger
}

/** Share of the descriptors that connections without a request may hold, and the largest share of one address: a quarter. */
const MAX_SHARE = 0.25
/** Connections that an address may open beyond its bound, so that its health checks are read and its other requests get a reason. */
const MARGIN = 32
/**
 * Bytes of a body that count for an address: the size up to which a body needs no credentials. Larger bodies of actions also count for their
 * person (`InputBudgets`), and other routes pass theirs on.
 */
const COUNTED_BODY_BYTES = 64 * 1024
/** `Retry-After` of a refused request, in seconds: two intervals at which Node ends connections without a head. */
const RETRY_AFTER_SECS = 10
/** Maximum number of addresses compared to find the one with the most connections. A flood from more addresses needs a firewall. */
const MAX_COMPARED = 1_000
/** Time between two log lines about the connections of all addresses, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

/**
 * Counts the HTTP connections of each address on this node, from the TCP handshake to the close, and bounds them, so that no address
 * takes all file descriptors. Connections that are idle, without a complete request and streaming count alike. Links of devices leave
 * these counts with their upgrade request. Through a trusted proxy, each request counts for the address of its client.
 *
 * - A file that is sent counts as a further connection of its address, because it holds a descriptor as well.
 * - A connection with too many unanswered requests is closed. Well-behaved clients wait for a response before the next request; each response
 *   to a pipelined request is held in memory, or its file kept open, until the client reads it.
 * - At the bound of an address, its connection that is idle for longest is closed. If none is idle, its requests are refused, except for
 *   health checks.
 * - When descriptors are short, idle connections of the address with the most connections are closed. If none is idle, this machine and
 *   trusted proxies may open a few more, whose health checks are answered and whose other requests are refused.
 * - The bodies of unanswered requests of an address have a bound. Beyond it, requests with a body are refused.
 * - Beyond a quarter of the descriptors, the newest connection without a request of the address that has the most of them is closed. A
 *   flood from one address therefore displaces only its own connections.
 */
export class AddressShares {
  readonly #options: AddressSharesOptions
  readonly #remoteOf: (request: IncomingMessage) => string
  readonly #isProxy: (request: IncomingMessage) => boolean
  readonly #isProxyAddress: (address: string) => boolean
  readonly #max: number
  readonly #maxExtra: number
  readonly #maxUnfinished: number
  readonly #maxPipelined: number
  readonly #holders = new Map<string, Holder>()
  #open = 0
  /** Files that are being sent, each of which holds a descriptor beside that of its connection. */
  #files = 0
  #unfinished = 0
  /** Times of the last log lines by message. */
  readonly #loggedAtMs = new Map<string, number>()

  constructor(options: AddressSharesOptions) {
    const { config, maxDescriptors } = options
    this.#options = options
    this.#remoteOf = remoteReader(config)
    this.#isProxy = trustedProxy(config)
    const proxies = networkList(config.trustedProxies)
    this.#isProxyAddress = address => proxies.check(address, familyOf(address))
    this.#maxExtra = Math.min(MARGIN, Math.floor((maxDescriptors - options.maxConnections) / 2))
    this.#maxUnfinished = Math.max(1, Math.floor(maxDescriptors * MAX_SHARE))
    this.#maxPipelined = config.limits['address-pipelined-requests']
    this.#max = Math.min(config.limits['address-connections'], this.#maxUnfinished)
  }

  /** Number of open HTTP connections. */
  get openCount(): number {
    return this.#open
  }

  /** Number of connections and proxied requests of the counted address that has the most. */
  get mostOfAddress(): number {
    let most = 0
    for (const { count, isCounted } of this.#holders.values()) if (isCounted && count > most) most = count
    return most
  }

  /** Counts the connections of a server. The server calls the returned function for each request. */
  watch(server: Server): Admit {
    /**
     * Connections by the peer's address and port. These lead from a request to its connection, because a request refers only to its TLS
     * socket and not to the TCP socket below it.
     */
    const byPeer = new Map<string, Connection>()
    server.prependListener('connection', (socket: Socket) => this.#accept(socket, byPeer))
    server.prependListener('upgrade', (request: IncomingMessage) => this.#upgrade(request, byPeer))
    return (request, response) => this.#admit(request, response, byPeer)
  }

  /** Counts a link for the address of its client until its socket closes. Throws `LimitReached` at the bound of the address. */
  take(address: string, socket: Socket): void {
    const holder = this.#holderOf(address, false)
    holder.count++
    if (socket.destroyed) this.#subtract(holder)
    else socket.once('close', () => this.#subtract(holder))
    if (this.#isOver(holder) && !this.#closeIdle(holder)) throw this.#refused(holder)
  }

  /**
   * Counts a file that is sent to an address until its response closes, like a further connection: it holds a descriptor, too. Throws
   * `LimitReached` at the bound of the address, and `Internal` (503) if no descriptors are free.
   */
  takeFile(address: string, response: ServerResponse): void {
    const holder = this.#holderOf(address, false)
    holder.count++
    this.#files++
    const release = (): void => {
      this.#files--
      this.#subtract(holder)
    }
    if (response.closed) {
      release()
      return
    }
    response.once('close', release)
    if (this.#isOver(holder) && !this.#closeIdle(holder)) throw this.#refused(holder)
    if (this.#isShort && !this.#closeMostIdle()) throw noDescriptors('a file')
  }

  #accept(socket: Socket, byPeer: Map<string, Connection>): void {
    const address = unwrapped(socket.remoteAddress ?? '')
    const holder = this.#holderOf(address, this.#isProxyAddress(address))
    const one: Connection = {
      socket,
      peer: peerOf(socket),
      holder,
      requests: 0,
      isForgotten: false,
      isExtra: false,
      close: () => this.#forget(one, byPeer),
    }
    byPeer.set(one.peer, one)
    holder.count++
    holder.unfinished.add(one)
    this.#open++
    this.#unfinished++
    socket.once('close', one.close)
    if (this.#isOver(holder)) this.#displace(one)
    if (!one.isForgotten && this.#unfinished > this.#maxUnfinished) this.#evictUnfinished(one)
    if (!one.isForgotten && this.#isShort) this.#makeRoom(one)
  }

  #admit(
    request: IncomingMessage,
    response: ServerResponse,
    byPeer: Map<string, Connection>,
  ): ActionError | undefined {
    const one = byPeer.get(peerOf(request.socket))
    const client = this.#begin(request, one)
    const bodyBytes = bodyBytesOf(request)
    if (one && one.requests > this.#maxPipelined) {
      this.#reportPipelined(one)
      if (client) this.#subtract(client)
      request.socket.destroy()
      end(one)
      return undefined
    }
    const holder = client ?? one?.holder
    if (holder) holder.bodyBytes += bodyBytes
    response.once('close', () => {
      if (holder) holder.bodyBytes -= bodyBytes
      if (client) this.#subtract(client)
      if (one) this.#end(one)
    })
    if (!holder || isHealthPath(pathOf(request.url ?? ''))) return undefined
    if (one?.isExtra && this.#isShort)
      return noDescriptors('this connection, which only a health check may use')
    const refused = this.#refusedBody(holder, bodyBytes) ?? this.#refusedConnection(holder)
    if (refused) this.#options.reports()?.add(refused.limit, refused.subject, refused.message)
    return refused
  }

  #refusedConnection(holder: Holder): LimitReached | undefined {
    if (!this.#isOver(holder)) return undefined
    if (!this.#closeIdle(holder)) return this.#refused(holder)
    this.#report(holder)
    return undefined
  }

  #refusedBody({ isCounted, address, bodyBytes }: Holder, ownBytes: number): LimitReached | undefined {
    const max = this.#options.config.limits['address-body-bytes']
    if (!isCounted || ownBytes === 0 || bodyBytes <= max) return undefined
    return new LimitReached({
      limit: 'address-body-bytes',
      subject: { address },
      max,
      found: bodyBytes,
      remedy: 'Send fewer requests with a body at once.',
      retryAfterSecs: RETRY_AFTER_SECS,
    })
  }

  #upgrade(request: IncomingMessage, byPeer: Map<string, Connection>): void {
    const one = byPeer.get(peerOf(request.socket))
    // Links count for their device or person. Until then, a whole fleet behind one address may wait for its authentication.
    if (pathOf(request.url ?? '') === CONNECT_PATH) {
      one?.close()
      return
    }
    const client = this.#begin(request, one)
    if (client) request.socket.once('close', () => this.#subtract(client))
  }

  /**
   * Counts a request, which ends the connection's time without one. Returns the holder for which the request counts by itself, because
   * a trusted proxy sent it.
   */
  #begin(request: IncomingMessage, one: Connection | undefined): Holder | undefined {
    const peer = remoteAddress(request)
    const client = this.#remoteOf(request)
    if (one && !one.isForgotten) {
      one.requests++
      one.holder.idle.delete(one)
      if (one.holder.unfinished.delete(one)) this.#unfinished--
      // A client in the network of the proxies that is no proxy counts as any other.
      if (client === peer && one.holder.key !== countedAs(peer) && !this.#isProxy(request))
        this.#move(one, peer)
    }
    if (client === peer) return undefined
    const holder = this.#holderOf(client, false)
    holder.count++
    return holder
  }

  #move(one: Connection, address: string): void {
    this.#subtract(one.holder)
    one.holder = this.#holderOf(address, false)
    one.holder.count++
  }

  #end(one: Connection): void {
    if (one.isForgotten || --one.requests > 0) return
    one.holder.idle.add(one)
    if (this.#isOver(one.holder) && this.#closeIdle(one.holder)) this.#report(one.holder)
  }

  #forget(one: Connection, byPeer: Map<string, Connection>): void {
    if (one.isForgotten) return
    one.isForgotten = true
    // Removes the listener: links of devices live for days, and each listener would keep its entry in memory.
    one.socket.off('close', one.close)
    if (byPeer.get(one.peer) === one) byPeer.delete(one.peer)
    one.holder.idle.delete(one)
    if (one.holder.unfinished.delete(one)) this.#unfinished--
    this.#open--
    this.#subtract(one.holder)
  }

  #holderOf(address: string, isProxy: boolean): Holder {
    const counted = countedAs(address)
    const key = isProxy ? `proxy ${counted}` : counted
    let holder = this.#holders.get(key)
    if (!holder) {
      const isCounted =
        !isProxy && (!isLoopbackAddress(address) || this.#options.config.countsLoopback === true)
      const [unfinished, idle] = [new Set<Connection>(), new Set<Connection>()]
      holder = { key, address: counted, isCounted, count: 0, bodyBytes: 0, unfinished, idle }
      this.#holders.set(key, holder)
    }
    return holder
  }

  #subtract(holder: Holder): void {
    if (--holder.count === 0 && this.#holders.get(holder.key) === holder) this.#holders.delete(holder.key)
  }

  #isOver({ isCounted, count }: Holder): boolean {
    return isCounted && count > this.#max
  }

  get #isShort(): boolean {
    return this.#isBeyond(0)
  }

  /** Whether connections and links hold more descriptors than they may, and this number on top. */
  #isBeyond(extra: number): boolean {
    const { heldByLinks, maxConnections } = this.#options
    return this.#open + this.#files + heldByLinks() > maxConnections + extra
  }

  /** Closes the connection of a holder that is idle for longest. Returns false if none is idle. */
  #closeIdle({ idle }: Holder): boolean {
    const [oldest] = idle
    if (!oldest) return false
    end(oldest)
    return true
  }

  /** Makes room for a connection of an address at its bound. Without an idle connection, a few may wait for their request. */
  #displace(newest: Connection): void {
    const { holder } = newest
    this.#report(holder)
    if (!this.#closeIdle(holder) && holder.count > this.#max + Math.min(MARGIN, this.#max)) end(newest)
  }

  #makeRoom(newest: Connection): void {
    if (this.#closeMostIdle()) return
    newest.isExtra = !newest.holder.isCounted && !this.#isBeyond(this.#maxExtra)
    if (!newest.isExtra) this.#evictUnfinished(newest)
  }

  /** Closes the longest idle connection of the address with most of them. Returns false if none is idle. */
  #closeMostIdle(): boolean {
    const most =
      this.#most(
        ({ idle }) => idle.size,
        ({ isCounted }) => isCounted,
      ) ?? this.#most(({ idle }) => idle.size)
    if (!most) return false
    this.#warn('few file descriptors are free, so idle connections are closed', {
      max: this.#options.maxConnections,
      remote: most.address,
      ofAddress: most.count,
    })
    return this.#closeIdle(most)
  }

  #evictUnfinished(newest: Connection): void {
    // If no compared address has a connection without a request, the newest connection is closed.
    const most = this.#most(({ unfinished }) => unfinished.size) ?? newest.holder
    const evicted = most.unfinished.has(newest) ? newest : ([...most.unfinished].at(-1) ?? newest)
    this.#warn('too many connections without a request', {
      max: this.#maxUnfinished,
      remote: most.address,
      ofAddress: most.unfinished.size,
    })
    end(evicted)
  }

  /** The address for which a number is largest. Undefined if the number is 0 for all compared addresses. */
  #most(
    sizeOf: (holder: Holder) => number,
    isMeant = (_holder: Holder): boolean => true,
  ): Holder | undefined {
    let most: Holder | undefined
    let compared = 0
    for (const holder of this.#holders.values()) {
      if (isMeant(holder) && sizeOf(holder) > (most ? sizeOf(most) : 0)) most = holder
      if (++compared === MAX_COMPARED) break
    }
    return most
  }

  #refused(
    { address, count }: Holder,
    remedy = 'Close connections that are not used, or try again later.',
  ): LimitReached {
    return new LimitReached({
      limit: 'address-connections',
      subject: { address },
      max: this.#max,
      found: count,
      remedy,
      retryAfterSecs: RETRY_AFTER_SECS,
    })
  }

  #report(holder: Holder): void {
    const { limit, subject, message } = this.#refused(
      holder,
      'Its connections that were idle for longest are closed.',
    )
    this.#options.reports()?.add(limit, subject, message)
  }

  #reportPipelined({ holder: { address }, requests }: Connection): void {
    const { limit, subject, message } = new LimitReached({
      limit: 'address-pipelined-requests',
      subject: { address },
      max: this.#maxPipelined,
      found: requests,
      remedy: 'Its connections with more unanswered requests are closed.',
    })
    this.#options.reports()?.add(limit, subject, message)
  }

  #warn(message: string, fields: object): void {
    const now = performance.now()
    if (now - (this.#loggedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return
    this.#loggedAtMs.set(message, now)
    this.#options.log.warn(fields, message)
  }
}

/** Bytes of a request's body that count for its address. A body in chunks counts whole, because its length is unknown. */
function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return COUNTED_BODY_BYTES
  return Math.min(Number(headers['content-length'] ?? 0), COUNTED_BODY_BYTES) || 0
}

function noDescriptors(what: string): ActionError {
  const message = `The hub has no free file descriptors for ${what}.`
  return new ActionError('Internal', message, { status: 503, retryAfterSecs: RETRY_AFTER_SECS })
}

/** Closes a connection. Its counts go at once, because the event `close` comes later. */
function end(one: Connection): void {
  one.close()
  one.socket.destroy()
}

/** Address and port of the peer. Reads no other address of the socket, because the socket keeps in memory each address that was read. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { FairLimiter, LimiterRejection, type Permit } from '@muster/concurrency'
import { ChannelRejectedError } from '@muster/link'
import { LimitReached } from '../../platform/limits/limit-reached.ts'
import type { Shares } from '../../platform/limits/shares.ts'
import { endWithResponse } from '../../platform/net/last-answer.ts'
import { limitTime } from '../../platform/net/time-limit.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import { type ChannelServices, openForPerson } from '../channels/device-channel.ts'
import type { ReachableDevice } from '../links/registry.ts'
import { MAX_HEAD_BYTES } from './answer-reader.ts'
import { ChannelAgent, MAX_REQUESTS_PER_PORT } from './channel-agent.ts'
import type { ChannelSocket } from './channel-socket.ts'
import {
  cookiesOf,
  hasBody,
  headText,
  isSafe,
  redirectsOf,
  requestHeaders,
  responseHeaders,
} from './headers.ts'
import { type ProxyHosts, TOKEN_PARAMETER } from './hosts.ts'
import { openPortUrl } from './open-port-url.ts'
import { PAGES, type PageName, pageHtml, Unreachable } from './pages.ts'
import type { Protocol, ProxyAccess, ProxyTokens } from './proxy-tokens.ts'
import { addressesIn, type Place } from './redirects.ts'
import { isTlsAlert, speaksTls } from './tls-channel.ts'

/** Deadline for a device's service to begin its response, in milliseconds. */
const ANSWER_TIMEOUT_MS = 120_000
/** Deadline for receiving the rest of a request's body after the device's service has stopped reading it, in milliseconds. */
const REST_TIMEOUT_MS = 120_000
/** Longest wait for a browser to take the rest of a response that is cut off, in milliseconds. */
const CUT_OFF_MS = 5_000
/** Time without data within the body of a response after which the response is cut off, in seconds. */
const SILENCE_SECS = 300

type ProxyOptions = ChannelServices & {
  publicUrl: string
  hosts: ProxyHosts
  tokens: ProxyTokens
  shares: Pick<Shares, 'takePageRequest'>
  measures?: Measures | undefined
  log: Logger
  /** Deadline for a service to begin its response, in milliseconds; `ANSWER_TIMEOUT_MS` by default. */
  answerTimeoutMs?: number
  /** Longest wait of a request for a connection to the device's port, in milliseconds; `WAIT_TIMEOUT_MS` by default. */
  waitTimeoutMs?: number
  /**
   * Time without data within the body of a response after which the response is cut off, in seconds; 0 for never. `SILENCE_SECS` by default.
   */
  silenceSecs?: number
}

/** Limit of waiting requests to one port of a device. Further requests get the "busy" page. */
const MAX_WAITING_PER_PORT = 128
/** Longest wait of a request for a connection to the device's port, in milliseconds. */
const WAIT_TIMEOUT_MS = 30_000

declare module '../../platform/pipeline/services.ts' {
  interface Services {
    /** Host names and tokens in links to web pages of devices. */
    proxy: { hosts: ProxyHosts; tokens: ProxyTokens; publicUrl: string }
  }
}
declare module '../../platform/pipeline/core.ts' {
  interface Core {
    /** Serves the web pages of devices, each device under its own host name. */
    proxy: HttpProxy
  }
}

/** HTTP proxy that serves the web pages of devices on host names of their own. */
export type HttpProxy = {
  /** Whether a request is for a device, by its `Host` header, and not for the hub. */
  isFor(request: IncomingMessage): boolean
  /** Answers a request; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Answers an upgrade request; never rejects. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** Connections to one port of a connected device, for the lifetime of its link. Both protocols share the limit of the port. */
type Port = { limiter: FairLimiter; agents: Record<Protocol, ChannelAgent> }

/** Creates the proxy that forwards requests for device hosts over the links of the devices. */
export function createHttpProxy({
  publicUrl,
  hosts,
  tokens,
  reach,
  measures,
  rights,
  shares,
  log,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
  waitTimeoutMs = WAIT_TIMEOUT_MS,
  silenceSecs = SILENCE_SECS,
}: ProxyOptions): HttpProxy {
  const isSecure = publicUrl.startsWith('https:')
  const cookieName = isSecure ? '__Host-muster-device' : 'muster-device'
  const services = { reach: { find: (deviceId: string) => checked(reach.find(deviceId)) }, rights }
  const ports = new WeakMap<ReachableDevice, Map<number, Port>>()

  /** Returns the pooled connections to one port of a device. They close with the device's link. */
  function portOf(session: ReachableDevice, port: number): Port {
    const ofSession = ports.get(session) ?? new Map<number, Port>()
    ports.set(session, ofSession)
    const known = ofSession.get(port)
    if (known) return known
    const ended = new AbortController()
    void session.ended.then(() => ended.abort(new Unreachable('offline')))
    const limiter = new FairLimiter({
      max: MAX_REQUESTS_PER_PORT,
      maxWaiting: MAX_WAITING_PER_PORT,
      waitMs: waitTimeoutMs,
      signal: ended.signal,
    })
    const agentOf = (protocol: Protocol): ChannelAgent =>
      new ChannelAgent(session, port, protocol, measures?.forwards)
    const made = { limiter, agents: { http: agentOf('http'), https: agentOf('https') } }
    ofSession.set(port, made)
    return made
  }

  /**
   * Answers a request whose URL contains a token: stores a valid token in a cookie for this host only, and redirects to the URL without
   * the token. An expired token redirects to the URL that the issuer of the link has set.
   */
  async function admit(response: ServerResponse, url: URL, host: string): Promise<void> {
    const jwt = url.searchParams.get(TOKEN_PARAMETER) ?? ''
    url.searchParams.delete(TOKEN_PARAMETER)
    const access = await checked(tokens.check(jwt, host))
    if (!access) {
      const redirect = await checked(tokens.redirectOfExpired(jwt))
      if (redirect === undefined) throw new Unreachable('noLink')
      response.writeHead(303, { location: redirect, 'cache-control': 'no-store' }).end()
      return
    }
    const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax', `Max-Age=${access.lastsSecs}`]
    if (isSecure) attributes.push('Secure')
    response
      .writeHead(303, {
        location: url.pathname.replace(/^\/+/, '/') + url.search,
        'set-cookie': `${cookieName}=${jwt}; ${attributes.join('; ')}`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .end()
  }

  /** Resolves to the place of an opened port. The addresses of the device are read only if its answer leads to an address. */
  async function placeOf(host: string, request: IncomingMessage, { answer, access }: Opened): Promise<Place> {
    const { deviceId, port, protocol } = access
    const named = addressesIn(redirectsOf(answer))
    return {
      host,
      origin: hosts.originOf(host),
      port,
      protocol,
      asked: isSafe(request) && answer.headers['set-cookie'] === undefined ? request.url : undefined,
      addresses: named.length > 0 ? await checked(tokens.addressesOf(deviceId, named)) : new Set(),
      offer: target => openPortUrl(publicUrl, access, target),
    }
  }

  /**
   * Resolves to the error of a request, with an offer to open the port with the other protocol if the service speaks that one. Uses the permit of
   * the request for a channel, because some services that expect TLS only close a connection with plain HTTP.
   */
  async function explained(
    error: unknown,
    device: ReachableDevice,
    access: ProxyAccess,
    request: IncomingMessage,
  ): Promise<unknown> {
    const { port, protocol } = access
    const page = pageOf(error)
    // A reused connection has had an answer before.
    const mayBeTls = page === 'hungUp' && !(error instanceof StaleConnection) && !request.socket.destroyed
    const isTls = protocol === 'http' && (page === 'tls' || (mayBeTls && (await speaksTls(device, port))))
    if (!isTls && page !== 'noTls') return error
    const other = isTls ? 'https' : 'http'
    const href = openPortUrl(publicUrl, access, { port, protocol: other, path: request.url! })
    const label = `Open port ${port} with ${other.toUpperCase()}`
    return new Unreachable(isTls ? 'tls' : 'noTls', error, { label, href })
  }

  /**
   * Forwards a request to the device and passes the response to `pipe`. `over` is the browser's response or socket. When `over` closes, the
   * request to the device is aborted, and another request may use the port. Throws `Unreachable`.
   */
  async function forward(
    request: IncomingMessage,
    host: string,
    over: ServerResponse | Duplex,
    isUpgrade: boolean,
    pipe: (answer: Answer, place: Place) => Promise<void>,
  ): Promise<void> {
    const jwt = cookiesOf(request.headers.cookie ?? '').find(([name]) => name === cookieName)?.[1] ?? ''
    const outcome = await openForPerson(services, {
      async right() {
        const access = await checked(tokens.check(jwt, host))
        if (!access) return undefined
        if (isFromOtherSite(request, isUpgrade)) throw new Unreachable('otherSite')
        // Refuses service workers. When a person opens the next link to this host, a service worker could respond inside the browser, so that
        // the link's token would never reach the hub. Pages that devices serve themselves, over plain HTTP, cannot have service workers either.
        if (request.headers['service-worker'] !== undefined) throw new Unreachable('worker')
        return access
      },
      limits({ userId }) {
        // A request that waits and is sent twice adds more than 10 listeners, the number above which Node warns of a leak.
        over.setMaxListeners(20)
        // If the browser has already disconnected, `close` has already fired. A listener added below would never run and never end
        // the request to the device.
        if (request.socket.destroyed) throw leftError()
        shares.takePageRequest(userId, over)
      },
      async open(device, access, signal): Promise<Opened> {
        signal.addEventListener('abort', () => request.socket.destroy())
        const { port, protocol } = access
        const { limiter, agents } = portOf(device, port)
        const agent = agents[protocol]
        const isWithBody = hasBody(request, isUpgrade)
        const permit = await permitOf(limiter, over)
        const send = (): Promise<Answer> => {
          if (request.socket.destroyed) throw leftError()
          const upstream = httpRequest({
            agent,
            method: request.method!,
            path: request.url!,
            host,
            headers: requestHeaders(request, isSecure, isUpgrade) as never,
            setHost: false,
            // `AnswerReader` has the same limit, and may write a head that is longer than the device's by some bytes.
            maxHeaderSize: 2 * MAX_HEAD_BYTES,
          })
          // Heads with more than 2,000 lines would lose the rest of them. `MAX_HEAD_BYTES` bounds their number.
          upstream.maxHeadersCount = 0
          upstream.once('socket', socket =>
            (socket as Duplex as ChannelSocket).answers!.expect(request.method!),
          )
          over.once('close', () => upstream.destroy())
          upstream.once('close', () => takeRest(request))
          // A truncated request must not look complete to the device.
          request.once('aborted', () => upstream.destroy(leftError()))
          if (isWithBody) request.pipe(upstream)
          else upstream.end()
          return answerOf(upstream, answerTimeoutMs, permit.release)
        }
        try {
          const answer = await send().catch(error => {
            // The device may have processed the request before the connection was lost, so only requests with a safe method and without
            // a body are sent again.
            if (!(error instanceof StaleConnection) || isWithBody || !isSafe(request)) throw error
            agent.closeIdle()
            return send()
          })
          return { ...answer, access }
        } catch (error) {
          const reason = await explained(error, device, access, request)
          permit.release()
          throw reason
        }
      },
      audit: 'WithToken',
      async pipe(opened) {
        await pipe(opened, await placeOf(host, request, opened))
      },
    })
    if (outcome === 'NotConnected') throw new Unreachable('offline')
    if (outcome === 'Forbidden')
      throw new Unreachable((await checked(tokens.isKnownHost(host))) ? 'noLink' : 'wrongHost')
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = hosts.deviceHost(request.headers.host)!
    // A browser that disconnects during a request is not an error.
    request.on('error', () => {})
    response.on('error', () => {})
    // The security headers of the hub do not apply to pages of devices.
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    try {
      const url = URL.parse(request.url ?? '', `http://${host}`)
      if (url?.searchParams.has(TOKEN_PARAMETER)) return await admit(response, url, host)
      await forward(request, host, response, false, async ({ answer, socket: device }, place) => {
        if (device) {
          device.destroy()
          throw new Unreachable('nonsense')
        }
        const headers = responseHeaders(answer, false, place)
        response.writeHead(answer.statusCode!, answer.statusMessage, headers)
        // Sends the head without waiting for the first byte of the body: with server-sent events, that byte may come much later. The
        // encoding Latin-1 passes on the bytes of the device's headers unchanged. `flushHeaders` would encode them as UTF-8.
        response.write('', 'latin1')
        endSilence(answer, response, silenceSecs)
        await passOn(answer, response)
      })
    } catch (error) {
      const page = pageOf(error)
      log.debug({ err: error, host, page }, 'proxy request failed')
      if (response.headersSent) await cutOff(response, response.socket)
      else sendPage(response, page, request.method === 'HEAD', error)
    }
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const host = hosts.deviceHost(request.headers.host)!
    socket.on('error', () => {})
    let hasBegun = false
    try {
      await forward(request, host, socket, true, async ({ answer, socket: device, head: first }, place) => {
        hasBegun = true
        socket.write(headText(answer, device !== undefined, place), 'latin1')
        if (!device) {
          socket.once('finish', () => socket.destroy())
          endSilence(answer, socket, silenceSecs)
          return await passOn(answer, socket)
        }
        // Forwards the bytes that arrived together with the head of the request or of the response.
        device.write(head)
        socket.write(first!)
        await Promise.all([pipeline(socket, device), pipeline(device, socket)])
      })
    } catch (error) {
      // After the head of the device's response, the hub cannot send another response.
      if (hasBegun) return await cutOff(socket, socket)
      const { status, title } = PAGES[pageOf(error)]
      endWithResponse(socket, `HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    }
  }

  /** Logs an unexpected error and closes the connection, so that one bad request does not affect the hub. */
  function lost(error: unknown, over: ServerResponse | Duplex): void {
    log.error({ err: error }, 'proxy failed')
    over.destroy()
  }

  return {
    isFor: request => hosts.deviceHost(request.headers.host) !== undefined,
    handle: (request, response) => handle(request, response).catch(error => lost(error, response)),
    upgrade: (request, socket, head) => upgrade(request, socket, head).catch(error => lost(error, socket)),
  }
}

/** Awaits a database query about a link. If it fails, throws `Unreachable` with a page about the database instead of the device. */
async function checked<Found>(look: Promise<Found>): Promise<Found> {
  return look.catch(error => {
    throw new Unreachable('unchecked', error)
  })
}

type Answer = { answer: IncomingMessage; socket?: Duplex; head?: Buffer }
type Opened = Answer & { access: ProxyAccess }

/**
 * Error for a reused connection that closed before the first byte of the response. The device may have closed the connection
 * before it received the request.
 */
class StaleConnection extends Unreachable {
  constructor(cause: unknown) {
    super('hungUp', cause)
  }
}

/** Waits for the head of a response and rejects if there is none. Calls `onClosed` when a response with a head has ended. */
function answerOf(upstream: ClientRequest, timeoutMs: number, onClosed: () => void): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let timer: NodeJS.Timeout | undefined
  let hasBegun = false
  let isAnswered = false
  upstream.once('socket', socket => socket.once('data', () => (hasBegun = true)))
  // The timeout starts when the service has received the whole request, unless its response has begun by then.
  const startTimer = (): void => {
    timer = setTimeout(() => upstream.destroy(new Unreachable('timeout')), timeoutMs)
  }
  upstream.once('finish', startTimer)
  const done = (answer: Answer): void => {
    isAnswered = true
    upstream.off('finish', startTimer)
    clearTimeout(timer)
    upstream.once('close', onClosed)
    resolve(answer)
  }
  const failed = (error: Error): void => {
    clearTimeout(timer)
    reject(error)
    upstream.destroy()
  }
  upstream.once('response', answer => {
    if (answer.statusCode! >= 100) done({ answer })
    else failed(new Unreachable('nonsense'))
  })
  upstream.once('upgrade', (answer, socket, head) => done({ answer, socket, head }))
  upstream.on('error', (error: NodeJS.ErrnoException) => {
    // After the head, errors of `upstream` are ignored. A truncated response emits an error on `answer`. Other errors come from
    // services that send more bytes than announced, whose responses are complete.
    if (isAnswered) return
    const isStale = upstream.reusedSocket && !hasBegun && error.code === 'ECONNRESET'
    failed(isStale ? new StaleConnection(error) : error)
  })
  return promise
}

/** Pipes the body of a response to the browser. Rejects if the device breaks off, and leaves the connection to the browser open then. */
function passOn(answer: IncomingMessage, browser: ServerResponse | Duplex): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  finished(answer, { writable: false }).catch(reject)
  finished(browser, { readable: false }).then(resolve, reject)
  answer.pipe(browser)
  return promise
}

/** Ends a response that is not complete. What has arrived of it is sent first, because browsers show it. */
async function cutOff(browser: ServerResponse | Duplex, socket: Duplex | null): Promise<void> {
  if (socket?.writable) {
    const sent = new Promise<unknown>(done => socket.write('', done))
    await Promise.race([sent, sleep(CUT_OFF_MS, undefined, { ref: false })])
  }
  browser.destroy()
}

/**
 * Cuts a response off when the device sends nothing of its body for `silenceSecs`. Event streams may be silent for any time. Time in which the
 * browser takes no data does not count.
 */
function endSilence(answer: IncomingMessage, browser: ServerResponse | Duplex, silenceSecs: number): void {
  if (
    silenceSecs === 0 ||
    answer.complete ||
    /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '')
  )
    return
  const { socket } = answer
  const onTimeout = (): void => {
    if (browser.writableNeedDrain) socket.setTimeout(silenceSecs * 1000)
    else answer.destroy(new Error(`the device sent nothing for ${silenceSecs} s within its answer`))
  }
  socket.setTimeout(silenceSecs * 1000)
  socket.on('timeout', onTimeout)
  answer.once('close', () => socket.off('timeout', onTimeout))
}

/**
 * Reads and drops the rest of a request that the device's service no longer reads. Most browsers show a response only after they
 * have sent the whole request.
 */
function takeRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe().resume()
  limitTime(request, REST_TIMEOUT_MS, () => request.socket.destroy())
}

/**
 * Waits for a permit for a request to a port of a device. Throws `Unreachable` if too many requests wait or the wait times out. Throws
 * the error of `leftError` if `over`, the browser's response or socket, closes during the wait.
 */
async function permitOf(limiter: FairLimiter, over: ServerResponse | Duplex): Promise<Permit> {
  const left = new AbortController()
  const abort = (): void => left.abort(leftError())
  over.once('close', abort)
  try {
    return await limiter.enter({ signal: left.signal })
  } catch (error) {
    if (error instanceof LimiterRejection) throw new Unreachable('busy')
    throw error
  } finally {
    over.off('close', abort)
  }
}

function leftError(): Error {
  return new Error('the browser went away')
}

function pageOf(error: unknown): PageName {
  if (error instanceof LimitReached) return 'limit'
  if (error instanceof Unreachable) return error.page
  if (error instanceof ChannelRejectedError) return pageOfRejection(error)
  if (isTlsAlert(error)) return 'tlsRefused'
  const { code } = error as NodeJS.ErrnoException
  // Published Nexigon agents of 2025 accept a channel first and close it when nothing listens on the port (docs/protocol.md 3.3).
  if (code === 'ECONNRESET') return 'hungUp'
  if (code?.startsWith('ERR_SSL_') || code === 'EPROTO') return 'noTls'
  return code?.startsWith('HPE_') || code?.startsWith('ERR_INVALID_') ? 'nonsense' : 'offline'
}

/** The page for a channel that the device, or this side, has rejected (docs/protocol.md 3.3). */
function pageOfRejection(error: ChannelRejectedError): PageName {
  if (error.shouldRetry()) return 'busy'
  switch (error.reason) {
    case 'too many channels are waiting':
    case 'agent task queue is full':
      return 'busy'
    case 'timed out':
    case 'local TCP forwarding target timed out':
      return 'silent'
    case 'unknown endpoint':
      return 'noForwards'
    default:
      return 'refused'
  }
}

function sendPage(response: ServerResponse, name: PageName, isHead: boolean, error: unknown): void {
  // The message of a limit has the value that was found.
  const page = error instanceof LimitReached ? { ...PAGES[name], text: error.message } : PAGES[name]
  const html = Buffer.from(pageHtml(page, error instanceof Unreachable ? error.link : undefined))
  response.writeHead(page.status, STATUS_CODES[page.status], {
    'content-type': 'text/html; charset=utf-8',
    'content-length': html.length,
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    // Closes the connection, because the unread rest of the body must not be parsed as the next request.
    connection: 'close',
  })
  response.end(isHead ? undefined : html)
}

/** True if a page of another site, such as another device's page, sent the request. Top-level navigation by a link is allowed. */
function isFromOtherSite(request: IncomingMessage, isUpgrade: boolean): boolean {
  const { origin, host } = request.headers
  const site = request.headers['sec-fetch-site']
  // Browsers send `Sec-Fetch-Site` only to secure origins, and `Origin` only with methods that are not safe.
  if (isUpgrade || site === undefined) return origin !== undefined && URL.parse(origin)?.host !== host
  if (site === 'same-origin' || site === 'none') return false
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': place = 'document' } = request.headers
  // Framing is rejected: a framed page could trick people into clicking something that they do not see (clickjacking).
  return mode !== 'navigate' || place !== 'document' || !['GET', 'HEAD'].includes(request.method ?? '')
}

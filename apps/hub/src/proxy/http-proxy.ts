import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ChannelRejectedError } from '@muster/link'
import { endWith } from '../gateway/last-answer.ts'
import type { DeviceRegistry, DeviceSession } from '../gateway/registry.ts'
import { limitTime } from '../http/time-limit.ts'
import type { Logger } from '../log.ts'
import { ChannelAgent } from './channel-agent.ts'
import { Gate } from './gate.ts'
import { cookiesOf, hasBody, headText, isSafe, reasonOf, requestHeaders, responseHeaders } from './headers.ts'
import { type ProxyHosts, TOKEN_PARAMETER } from './hosts.ts'
import { PAGES, type PageName, pageHtml, Unreachable } from './pages.ts'
import type { ProxyTokens } from './proxy-tokens.ts'
import { endWithRight } from './recheck.ts'

/** How long a service may take to begin its answer when nothing else is said, in milliseconds. */
const ANSWER_TIMEOUT_MS = 120_000
/** How long the rest of a request that nobody reads any more may take to come, in milliseconds. */
const REST_TIMEOUT_MS = 120_000
/** As much as browsers take of an answer's head, in bytes. */
const MAX_HEAD_BYTES = 256 * 1024

type ProxyOptions = {
  publicUrl: string
  hosts: ProxyHosts
  tokens: ProxyTokens
  devices: DeviceRegistry
  log: Logger
  /** How long a service may take to begin its answer, in milliseconds. */
  answerTimeoutMs?: number
  /** How long a request waits for its turn, in milliseconds. */
  waitTimeoutMs?: number
}

/** Serves the web pages of devices under host names of their own. */
export type HttpProxy = {
  /** Whether a request is for a device and not for the hub. */
  isFor(request: IncomingMessage): boolean
  /** Answers a request; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Takes a request for an upgrade; never rejects. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** The way to one port of a device, for as long as its link lasts. */
type Port = { gate: Gate; agent: ChannelAgent }

export function createHttpProxy({
  publicUrl,
  hosts,
  tokens,
  devices,
  log,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
  waitTimeoutMs,
}: ProxyOptions): HttpProxy {
  const isSecure = publicUrl.startsWith('https:')
  const cookieName = isSecure ? '__Host-muster-device' : 'muster-device'
  const ports = new WeakMap<DeviceSession, Map<number, Port>>()

  /** The way to one port of a connected device; its connections are pooled and end with its link. */
  function portOf(session: DeviceSession, port: number): Port {
    const ofSession = ports.get(session) ?? new Map<number, Port>()
    ports.set(session, ofSession)
    const known = ofSession.get(port)
    if (known) return known
    const made = { gate: new Gate(waitTimeoutMs), agent: new ChannelAgent(session, port) }
    ofSession.set(port, made)
    void session.ended.then(() => made.gate.close())
    return made
  }

  /** A token in the address becomes the cookie of this host alone, and leaves the address. */
  async function admit(response: ServerResponse, url: URL, host: string): Promise<void> {
    const jwt = url.searchParams.get(TOKEN_PARAMETER) ?? ''
    url.searchParams.delete(TOKEN_PARAMETER)
    const access = await tokens.check(jwt, host)
    if (!access) {
      const redirect = await tokens.redirectOfExpired(jwt)
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

  /**
   * Sends a request on its way to the device; resolves with the answer's beginning. `over` closes when the browser has all that it
   * wants, and everything here ends with it. Throws `Unreachable`.
   */
  async function forward(
    request: IncomingMessage,
    host: string,
    over: ServerResponse | Duplex,
    isUpgrade: boolean,
  ): Promise<Answer> {
    const jwt = cookiesOf(request.headers.cookie ?? '').find(([name]) => name === cookieName)?.[1] ?? ''
    const access = await tokens.check(jwt, host)
    if (!access) throw new Unreachable((await tokens.isKnownHost(host)) ? 'noLink' : 'wrongHost')
    if (isFromOtherSite(request, isUpgrade)) throw new Unreachable('otherSite')
    // It would answer the next link by itself, whose token would never get here; on a device's own plain HTTP there is none either.
    if (request.headers['service-worker'] !== undefined) throw new Unreachable('worker')
    const session = devices.get(access.deviceId)
    if (!session) throw new Unreachable('offline')
    const isWithBody = hasBody(request, isUpgrade)
    const { gate, agent } = portOf(session, access.port)
    // One that waited and is sent twice has more listeners than Node takes for no leak.
    over.setMaxListeners(20)
    // Who left meanwhile closes nothing any more: what began now would never end.
    if (request.socket.destroyed) throw leftError()
    const isAllowed = async (): Promise<boolean> => (await tokens.check(jwt, host)) !== undefined
    const stop = endWithRight(isAllowed, () => request.socket.destroy())
    over.once('close', stop)
    const send = (): Promise<Answer> => {
      if (request.socket.destroyed) throw leftError()
      const upstream = httpRequest({
        agent,
        method: request.method!,
        path: request.url!,
        host,
        headers: requestHeaders(request, cookieName, isSecure, isUpgrade) as never,
        setHost: false,
        maxHeaderSize: MAX_HEAD_BYTES,
        // Browsers take what small devices make of HTTP, such as lines that end in a line feed; what goes on to them is written anew.
        insecureHTTPParser: !isUpgrade,
      })
      over.once('close', () => upstream.destroy())
      upstream.once('close', () => takeRest(request))
      // A request that breaks off in the middle must not look whole to the device.
      request.once('aborted', () => upstream.destroy(leftError()))
      if (isWithBody) request.pipe(upstream)
      else upstream.end()
      return answerOf(upstream, answerTimeoutMs, () => gate.leave())
    }
    await gate.enter(over)
    try {
      return await send().catch(error => {
        // Whether the device has seen a request that was lost nobody knows: only what changes nothing is sent again.
        if (!(error instanceof StaleConnection) || isWithBody || !isSafe(request)) throw error
        agent.closeIdle()
        return send()
      })
    } catch (error) {
      gate.leave()
      throw error
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = hosts.deviceHost(request.headers.host)!
    // Who goes away in the middle is no fault.
    request.on('error', () => {})
    response.on('error', () => {})
    // The hub's own rules are not for the device's pages.
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    try {
      const url = URL.parse(request.url ?? '', `http://${host}`)
      if (url?.searchParams.has(TOKEN_PARAMETER)) return await admit(response, url, host)
      const { answer, socket: device } = await forward(request, host, response, false)
      if (device) {
        device.destroy()
        throw new Unreachable('nonsense')
      }
      const headers = responseHeaders(answer, false, { host, origin: hosts.originOf(host) })
      response.writeHead(answer.statusCode!, reasonOf(answer), headers)
      // What comes slowly must be seen at once: server-sent events begin without a body. `flushHeaders` would say it in UTF-8.
      response.write('', 'latin1')
      await pipeline(answer, response)
    } catch (error) {
      const page = pageOf(error)
      log.debug({ err: error, host, page }, 'proxy request failed')
      if (response.headersSent) response.destroy()
      else sendPage(response, page, request.method === 'HEAD')
    }
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const host = hosts.deviceHost(request.headers.host)!
    socket.on('error', () => {})
    let hasBegun = false
    try {
      const { answer, socket: device, head: first } = await forward(request, host, socket, true)
      hasBegun = true
      socket.write(headText(answer, device !== undefined, { host, origin: hosts.originOf(host) }), 'latin1')
      if (!device) {
        socket.once('finish', () => socket.destroy())
        return await pipeline(answer, socket)
      }
      // What either side sent right behind its head goes first.
      device.write(head)
      socket.write(first!)
      await Promise.all([pipeline(socket, device), pipeline(device, socket)])
    } catch (error) {
      // What is under way speaks no HTTP any more.
      if (hasBegun) return void socket.destroy()
      const { status, title } = PAGES[pageOf(error)]
      endWith(socket, `HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    }
  }

  /** Whatever goes wrong with one request, the hub goes on. */
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

type Answer = { answer: IncomingMessage; socket?: Duplex; head?: Buffer }

/** A kept connection ended before any byte of an answer: the device had closed it, perhaps before it got the request. */
class StaleConnection extends Unreachable {
  constructor(cause: unknown) {
    super('closed', cause)
  }
}

/** Waits for the beginning of an answer, and rejects when there is none; once there is one, `onClosed` is called after its end. */
function answerOf(upstream: ClientRequest, timeoutMs: number, onClosed: () => void): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let timer: NodeJS.Timeout | undefined
  let hasBegun = false
  let isAnswered = false
  upstream.once('socket', socket => socket.once('data', () => (hasBegun = true)))
  // The time begins when the service has got all of the request, unless it has begun to answer by then.
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
    // An answer that breaks off tells it itself; bytes behind its end, from services that count badly, take nothing from it.
    if (isAnswered) return
    const isStale = upstream.reusedSocket && !hasBegun && error.code === 'ECONNRESET'
    failed(isStale ? new StaleConnection(error) : error)
  })
  return promise
}

/** Takes what is still to come of a request that its service has left: most browsers see an answer when they have sent everything. */
function takeRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe().resume()
  limitTime(request, REST_TIMEOUT_MS, () => request.socket.destroy())
}

function leftError(): Error {
  return new Error('the browser went away')
}

function pageOf(error: unknown): PageName {
  if (error instanceof Unreachable) return error.page
  if (error instanceof ChannelRejectedError) {
    if (error.shouldRetry() || error.reason === 'too many channels are waiting') return 'busy'
    return error.reason === 'timed out' ? 'timeout' : 'closed'
  }
  const { code } = error as NodeJS.ErrnoException
  // Public agents of 2025 accept first, and end the channel when nobody listens (protocol 3.3).
  if (code === 'ECONNRESET') return 'closed'
  return code?.startsWith('HPE_') || code?.startsWith('ERR_INVALID_') ? 'nonsense' : 'offline'
}

function sendPage(response: ServerResponse, name: PageName, isHead: boolean): void {
  const page = PAGES[name]
  const html = Buffer.from(pageHtml(page))
  response.writeHead(page.status, STATUS_CODES[page.status], {
    'content-type': 'text/html; charset=utf-8',
    'content-length': html.length,
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    // What is left of a request's body must not be taken for the next request.
    connection: 'close',
  })
  response.end(isHead ? undefined : html)
}

/** Whether another site, a sibling device's page among them, asks for something in a page; following a link is in order. */
function isFromOtherSite(request: IncomingMessage, isUpgrade: boolean): boolean {
  const { origin, host } = request.headers
  const site = request.headers['sec-fetch-site']
  // Browsers say the site to no plain HTTP, and the origin only of what may do harm.
  if (isUpgrade || site === undefined) return origin !== undefined && URL.parse(origin)?.host !== host
  if (site === 'same-origin' || site === 'none') return false
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': place = 'document' } = request.headers
  // In a frame, people could be led to click what they do not see.
  return mode !== 'navigate' || place !== 'document' || !['GET', 'HEAD'].includes(request.method ?? '')
}

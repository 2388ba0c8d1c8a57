import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ChannelRejectedError } from '@muster/link'
import { endWith } from '../gateway/last-answer.ts'
import type { DeviceRegistry, DeviceSession } from '../gateway/registry.ts'
import type { Logger } from '../log.ts'
import { ChannelSocket } from './channel-socket.ts'
import { type ProxyHosts, TOKEN_PARAMETER } from './hosts.ts'
import { PAGES, pageHtml } from './pages.ts'
import type { ProxyTokens } from './proxy-tokens.ts'
import { endWithRight } from './recheck.ts'

/** Connections to one port of one device, below what public agents forward at once (protocol 3.3). */
const MAX_CONNECTIONS = 8
/** Requests that wait for one of them; further ones are told to come back. */
const MAX_WAITING = 128
/** How long an idle connection is kept for the next request, in milliseconds: each takes one of the device's channels. */
const KEEP_MS = 4_000
/** How long the device may take to accept a connection, in milliseconds. */
const OPEN_TIMEOUT_MS = 15_000
/** How long a service may take to begin its answer when nothing else is said, in milliseconds. */
const ANSWER_TIMEOUT_MS = 120_000

/** Headers that are about one connection and not about the message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Headers that say who asked and how; the hub says it itself. */
const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip|x-client-cert|x-muster-.*)$/
/** Headers by which a server tells a proxy in front what to send or keep: that one is the operator's and not the device's to direct. */
const DIRECTIONS =
  /^(x-accel-(?!buffering$).*|x-sendfile|x-lighttpd-send-file|surrogate-control|cdn-cache-control)$/

type ProxyOptions = {
  publicUrl: string
  hosts: ProxyHosts
  tokens: ProxyTokens
  devices: DeviceRegistry
  log: Logger
  /** How long a service may take to begin its answer, in milliseconds. */
  answerTimeoutMs?: number
}

/** Serves the web pages of devices under host names of their own. */
export type HttpProxy = {
  /** Whether a request is for a device and not for the hub. */
  isFor(request: IncomingMessage): boolean
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

type PageName = keyof typeof PAGES

/** Why a request does not reach a device. */
class Unreachable extends Error {
  readonly page: PageName

  constructor(page: PageName, cause?: unknown) {
    super(PAGES[page].title, { cause })
    this.page = page
  }
}

export function createHttpProxy({
  publicUrl,
  hosts,
  tokens,
  devices,
  log,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
}: ProxyOptions): HttpProxy {
  const isSecure = publicUrl.startsWith('https:')
  const cookieName = isSecure ? '__Host-muster-device' : 'muster-device'
  const agents = new WeakMap<DeviceSession, Map<number, Agent>>()

  /** The connections to one port of a connected device; they are pooled and end with its link. */
  function agentOf(session: DeviceSession, port: number): Agent {
    const ofSession = agents.get(session) ?? new Map<number, Agent>()
    agents.set(session, ofSession)
    const agent = ofSession.get(port) ?? new ChannelAgent(session, port)
    ofSession.set(port, agent)
    return agent
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
    const session = devices.get(access.deviceId)
    if (!session) throw new Unreachable('offline')
    const agent = agentOf(session, access.port)
    const waiting = Object.values(agent.requests).reduce((sum, list) => sum + (list?.length ?? 0), 0)
    if (waiting >= MAX_WAITING) throw new Unreachable('busy')
    // Who left meanwhile closes nothing any more: what began now would never end.
    if (over.destroyed) throw new Error('the browser went away')
    const upstream = httpRequest({
      agent,
      method: request.method!,
      path: request.url!,
      host,
      headers: requestHeaders(request, cookieName, isSecure, isUpgrade) as never,
      setHost: false,
    })
    const isAllowed = async (): Promise<boolean> => (await tokens.check(jwt, host)) !== undefined
    const stop = endWithRight(isAllowed, () => request.socket.destroy())
    over.once('close', () => {
      stop()
      upstream.destroy()
    })
    return answerOf(upstream, request, answerTimeoutMs)
  }

  return {
    isFor: request => hosts.deviceHost(request.headers.host) !== undefined,

    async handle(request, response) {
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
        response.writeHead(answer.statusCode!, answer.statusMessage, responseHeaders(answer, false))
        // What comes slowly must be seen at once: server-sent events begin without a body.
        response.flushHeaders()
        await pipeline(answer, response)
      } catch (error) {
        const page = pageOf(error)
        log.debug({ err: error, host, page }, 'proxy request failed')
        if (response.headersSent) response.destroy()
        else sendPage(response, page, request.method === 'HEAD')
      }
    },

    async upgrade(request, socket, head) {
      const host = hosts.deviceHost(request.headers.host)!
      socket.on('error', () => {})
      try {
        const { answer, socket: device, head: first } = await forward(request, host, socket, true)
        socket.write(headText(answer, device !== undefined))
        if (!device) {
          socket.once('finish', () => socket.destroy())
          return await pipeline(answer, socket)
        }
        // What either side sent right behind its head goes first.
        device.write(head)
        socket.write(first!)
        await Promise.all([pipeline(socket, device), pipeline(device, socket)])
      } catch (error) {
        const { status, title } = PAGES[pageOf(error)]
        endWith(socket, `HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
      }
    },
  }
}

/** Opens a channel to a port of a device for each connection that Node's client wants. */
class ChannelAgent extends Agent {
  readonly #session: DeviceSession
  readonly #port: number

  constructor(session: DeviceSession, port: number) {
    super({ keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_CONNECTIONS, timeout: KEEP_MS })
    this.#session = session
    this.#port = port
  }

  override createConnection(
    _options: unknown,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#session.open(`forward/tcp/${this.#port}`, { timeoutMs: OPEN_TIMEOUT_MS }).then(
      channel => done?.(null, new ChannelSocket(channel)),
      error => done?.(error as Error, undefined as never),
    )
  }
}

type Answer = { answer: IncomingMessage; socket?: Duplex; head?: Buffer }

/** Passes a request's body on and waits for the beginning of the answer; rejects when there is none. */
function answerOf(upstream: ClientRequest, request: IncomingMessage, timeoutMs: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let timer: NodeJS.Timeout | undefined
  // The time begins when the service has got all of the request, unless it has begun to answer by then.
  const startTimer = (): void => {
    timer = setTimeout(() => upstream.destroy(new Unreachable('timeout')), timeoutMs)
  }
  upstream.once('finish', startTimer)
  const done = (answer: Answer): void => {
    upstream.off('finish', startTimer)
    clearTimeout(timer)
    resolve(answer)
  }
  upstream.once('response', answer => done({ answer }))
  upstream.once('upgrade', (answer, socket, head) => done({ answer, socket, head }))
  upstream.on('error', error => {
    clearTimeout(timer)
    reject(error)
  })
  // A request that breaks off in the middle must not look whole to the device.
  request.once('aborted', () => upstream.destroy(new Error('the browser went away')))
  request.pipe(upstream)
  return promise
}

function pageOf(error: unknown): PageName {
  if (error instanceof Unreachable) return error.page
  if (error instanceof ChannelRejectedError) return error.reason === 'timed out' ? 'timeout' : 'closed'
  const { code } = error as NodeJS.ErrnoException
  // Public agents of 2025 accept first, and end the channel when nobody listens (protocol 3.3).
  if (code === 'ECONNRESET') return 'closed'
  return code?.startsWith('HPE_') ? 'nonsense' : 'offline'
}

function sendPage(response: ServerResponse, name: PageName, isHead: boolean): void {
  const page = PAGES[name]
  const html = Buffer.from(pageHtml(page))
  response.writeHead(page.status, {
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

/** Pairs of names and values, as Node's `rawHeaders` are read: repeated ones stay as many. */
function pairsOf(raw: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at]!, raw[2 * at + 1]!])
}

/** Names that a message declares to be about its connection only. */
function connectionNames(message: IncomingMessage): Set<string> {
  const named = (message.headers.connection ?? '').toLowerCase().split(/[\s,]+/)
  return new Set([...HOP_BY_HOP, ...named])
}

function requestHeaders(
  request: IncomingMessage,
  cookieName: string,
  isSecure: boolean,
  isUpgrade: boolean,
): string[] {
  const dropped = connectionNames(request)
  const kept = pairsOf(request.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || FORWARDED.test(lower)) return []
    if (lower !== 'cookie') return [name, value]
    const others = cookiesOf(value).filter(([cookie]) => cookie !== cookieName)
    return others.length > 0 ? [name, others.map(pair => pair.join('=')).join('; ')] : []
  })
  // A body of unknown length comes in chunks; its length or chunks are this leg's own affair.
  if (request.headers['transfer-encoding'] !== undefined) kept.push('Transfer-Encoding', 'chunked')
  kept.push('X-Forwarded-Proto', isSecure ? 'https' : 'http', 'X-Forwarded-Host', request.headers.host!)
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade!)
  return kept
}

/** Headers of a device's answer, without those of its connection, and with cookies for its own host alone. */
function responseHeaders(answer: IncomingMessage, isUpgrade: boolean): string[] {
  const dropped = connectionNames(answer)
  const kept = pairsOf(answer.rawHeaders).flatMap(([name, value]): string[] => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || DIRECTIONS.test(lower)) return []
    if (lower === 'set-cookie') return [name, value.replace(/;\s*domain\s*(=[^;]*)?(?=;|$)/gi, '')]
    return [name, value]
  })
  if (isUpgrade) kept.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket')
  return kept
}

function headText(answer: IncomingMessage, isUpgrade: boolean): string {
  const lines = pairsOf(responseHeaders(answer, isUpgrade)).map(([name, value]) => `${name}: ${value}\r\n`)
  const rest = isUpgrade ? '' : 'connection: close\r\n'
  return `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join('')}${rest}\r\n`
}

function cookiesOf(header: string): [name: string, value: string][] {
  return header.split(/;\s*/).flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : []
  })
}

/** Whether another site, a sibling device's page among them, asks for something in a page; following a link is in order. */
function isFromOtherSite(request: IncomingMessage, isUpgrade: boolean): boolean {
  const { origin, host } = request.headers
  const site = request.headers['sec-fetch-site']
  // Browsers say the site to no plain HTTP, and the origin only of what may do harm.
  if (isUpgrade || site === undefined) return origin !== undefined && URL.parse(origin)?.host !== host
  if (site === 'same-origin' || site === 'none') return false
  return request.headers['sec-fetch-mode'] !== 'navigate' || !['GET', 'HEAD'].includes(request.method ?? '')
}

import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { clockHint } from './clock-hint.ts'

/** Deadline in milliseconds of a connection through a proxy: TCP, the answer to CONNECT, and TLS together. */
const PROXY_TIMEOUT_MS = 15_000

/** The HTTP proxy of a site through which a program reaches its hub. */
export type SiteProxy = {
  /** URL of the proxy, perhaps with credentials. It is a text because a variable may hold anything. */
  url: string
  /** Setting or variable that names the proxy. */
  source: string
}

type ConnectionRoute = {
  proxy: SiteProxy
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  /** Called when the connection does not come about through the proxy, before a direct one is tried. */
  onFailure?: (error: ProxyError) => void
  /** Called when the connection has come about through the proxy. */
  onTunnel?: () => void
}

/** A connection does not come about through the proxy, nor, if the message says so, directly. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  /** Errors of the attempts, the one through the proxy first. */
  readonly causes: readonly unknown[]

  constructor(message: string, causes: readonly unknown[]) {
    super(message, { cause: causes.at(-1) })
    this.causes = causes
  }
}

/**
 * Finds the proxy for a URL: the setting, else `HTTPS_PROXY` or `HTTP_PROXY`, by the scheme of the URL. `NO_PROXY` holds for both. Lower-case
 * names of variables come first, as in curl. The variables lead to no proxy for the local machine, which a proxy would take for its own.
 */
export function proxyFor(
  target: string,
  {
    proxyUrl,
    environment,
    isLocal,
  }: { proxyUrl?: string | undefined; environment: Record<string, string | undefined>; isLocal: boolean },
): SiteProxy | undefined {
  const url = new URL(target)
  const variable = (name: string) => environment[name.toLowerCase()] || environment[name]
  if (isExcluded(url, variable('NO_PROXY') ?? '')) return undefined
  if (proxyUrl !== undefined) return { url: proxyUrl, source: 'proxy-url' }
  const source = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const value = isLocal ? undefined : variable(source)?.trim()
  if (!value) return undefined
  return { url: value.includes('://') ? value : `http://${value}`, source }
}

/** True for the URL of a proxy that this module can use: `http://` or `https://`, with host and without a path. */
export function isProxyUrl(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === ''
  )
}

/** Names a proxy in messages, without its credentials. */
export function proxyName({ url, source }: SiteProxy): string {
  const origin = isProxyUrl(url) ? ` ${new URL(url).origin}` : ''
  return `the proxy${origin} (${source})`
}

/**
 * Returns a `createConnection` for a request of `node:http` or `node:https`, or of a WebSocket. It connects through the proxy, and directly if
 * that fails. The connection is handed over after its TLS handshake.
 */
export function connectionsVia(
  route: ConnectionRoute,
  isTls: boolean,
): (options: object, done: (error: Error | null, socket: Socket) => void) => undefined {
  return (options, done) => {
    connect(options as Target, isTls, route).then(
      socket => done(null, socket),
      // A failed connection has no socket, but the type of Node's callback requires one.
      (error: unknown) => done(error as Error, undefined as unknown as Socket),
    )
  }
}

type Target = ConnectionOptions & { host: string; port: number | string; timeout?: number }

async function connect(options: Target, isTls: boolean, route: ConnectionRoute): Promise<Socket> {
  const { proxy, signal, timeoutMs = PROXY_TIMEOUT_MS, onFailure, onTunnel } = route
  // `path` is the path of the request here, but a Unix socket for `connect`.
  const target = { ...options, port: Number(options.port), path: undefined }
  const open = (socket?: Socket) =>
    isTls
      ? connectTls({ ...target, ...(socket && { socket }), servername: isIP(target.host) ? '' : target.host })
      : (socket ?? connectTcp(target as TcpNetConnectOpts))
  let failure: ProxyError
  try {
    const socket = await withDeadline({ timeoutMs, signal }, async opened => {
      const tunnel = await openTunnel(proxy, target, opened)
      if (!isTls) return tunnel
      const secure = open(tunnel)
      opened(secure)
      await until(secure, 'secureConnect')
      return secure
    })
    if (target.timeout !== undefined) socket.setTimeout(target.timeout)
    onTunnel?.()
    return socket
  } catch (cause) {
    signal?.throwIfAborted()
    failure = new ProxyError(
      `found no connection to ${options.host}:${target.port} through ${proxyName(proxy)}: ${reasonOf(cause)}`,
      [cause],
    )
  }
  onFailure?.(failure)
  try {
    return await withDeadline({ signal, timeoutMs: target.timeout ?? timeoutMs }, async opened => {
      const socket = open()
      opened(socket)
      await until(socket, isTls ? 'secureConnect' : 'connect')
      return socket
    })
  } catch (cause) {
    signal?.throwIfAborted()
    throw new ProxyError(`${failure.message}; directly: ${reasonOf(cause)}`, [...failure.causes, cause])
  }
}

/** Sends CONNECT to the proxy and resolves to the connection to the target. `opened` gets what a deadline has to close. */
async function openTunnel(
  { url, source }: SiteProxy,
  { host, port }: { host: string; port: number },
  opened: (closable: Closable) => void,
): Promise<Socket> {
  if (!isProxyUrl(url)) throw new Error(`expected ${source} as http://HOST:PORT or https://HOST:PORT`)
  const proxy = new URL(url)
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const credentials = [proxy.username, proxy.password].map(decodeURIComponent).join(':')
  const send = proxy.protocol === 'https:' ? requestHttps : requestHttp
  const request = send({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(credentials !== ':' && {
        'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
      }),
    },
  })
  opened(request)
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  request.on('error', reject)
  request.once('connect', ({ statusCode = 0, statusMessage }, socket, head) => {
    opened(socket)
    socket.on('error', reject)
    if (statusCode === 407) reject(new Error(`it wants other credentials (407), see ${source}`))
    else if (statusCode < 200 || statusCode > 299)
      reject(new Error(`it answered ${statusCode} ${statusMessage ?? ''}`.trim()))
    // Servers of TLS and HTTP wait for the client, so these bytes are a page of the proxy itself.
    else if (head.length > 0) reject(new Error('it answered with a page of its own'))
    else resolve(socket)
  })
  request.end()
  return promise
}

type Closable = { destroy(error?: Error): unknown }

/** Runs an attempt to connect. After the deadline, an abort or a failure, everything that the attempt has opened is closed. */
async function withDeadline(
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
  attempt: (opened: (closable: Closable) => void) => Promise<Socket>,
): Promise<Socket> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const closables: Closable[] = []
  let isOver = false
  // An attempt that goes on after its deadline must not leave anything open.
  const opened = (closable: Closable) => void (isOver ? closable.destroy() : closables.push(closable))
  const abort = () => reject(signal?.reason)
  signal?.throwIfAborted()
  signal?.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
  try {
    return await Promise.race([attempt(opened), over])
  } catch (error) {
    isOver = true
    for (const closable of closables) closable.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

async function until(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once(event, resolve)
  // The listener stays until the request has its own: an error without a listener would end the process.
  socket.on('error', reject)
  socket.once('close', () => reject(new Error('the connection was closed')))
  await promise
}

/** Message of a socket's error. Errors of several addresses have none of their own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  return (error.message || String((error as NodeJS.ErrnoException).code ?? error.name)) + clockHint(error)
}

/** True if `NO_PROXY` names the host: `*`, a domain with its subdomains, an address or a network, each perhaps with a port. */
function isExcluded({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  const wanted = port || (protocol === 'https:' ? '443' : '80')
  return noProxy.split(/[\s,]+/).some(entry => {
    const [, name = '', entryPort] = /^(\[.*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    if (name === '' || (entryPort !== undefined && entryPort !== wanted)) return false
    if (name === '*') return true
    const domain = name.replace(/^\*?\./, '').replace(/^\[|\]$/g, '')
    if (isIP(host) === 0) return host === domain || host.endsWith(`.${domain}`)
    return isInNetwork(host, domain)
  })
}

function isInNetwork(address: string, network: string): boolean {
  const [base = '', prefix] = network.split('/')
  if (isIP(base) === 0 || isIP(base) !== isIP(address)) return false
  const family = isIP(base) === 6 ? 'ipv6' : 'ipv4'
  const bits = Number(prefix ?? (family === 'ipv6' ? 128 : 32))
  if (!Number.isInteger(bits) || bits < 0 || bits > (family === 'ipv6' ? 128 : 32)) return false
  const list = new BlockList()
  list.addSubnet(base, bits, family)
  return list.check(address, family)
}

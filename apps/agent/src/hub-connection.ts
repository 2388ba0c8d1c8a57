import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type ChannelRequest, Link, WebSocketTransport } from '@muster/link'
import { connectionsVia, type ProxyError, proxyName, type SiteProxy } from '@muster/link/site-proxy'
import { WebSocket } from 'ws'
import { agentInstance } from './agent-instance.ts'
import type { DeviceCertificate } from './certificate.ts'
import { readRefusal } from './refusal.ts'

/** URL of a hub and the device's credentials for it. */
export type HubCredentials = {
  hubUrl: string
  token: string
  fingerprint: string
  certificate: DeviceCertificate
  acceptInvalidCertificates: boolean
  proxy?: SiteProxy | undefined
}

export type ConnectOptions = {
  /**
   * Value of the header `X-Register-Connection`. If true, the hub shows the device as connected and may open channels to it
   * (docs/protocol.md 1.5).
   */
  isRegistered: boolean
  /** Accepts or rejects channel requests of the hub. Without this callback all requests are rejected. */
  onRequest?: (request: ChannelRequest) => void
  signal?: AbortSignal
  /** Called when the hub names the milliseconds within which this device shall return after a crash (docs/protocol.md R-26). */
  onReturnBound?: (returnWithinMs: number) => void
  /** Called when the hub is not reached through the proxy, before a direct connection is tried. */
  onProxyFailure?: (error: ProxyError) => void
  /** Timeout in milliseconds for TCP, TLS and WebSocket handshake together. */
  timeoutMs?: number
  /** Timeout in milliseconds after which a connection through a proxy is given up, 15 s by default. */
  proxyTimeoutMs?: number
}

/** An open connection to the hub, after the WebSocket handshake. */
export type HubConnection = {
  link: Link
  /** Resets the connection without a closing handshake. */
  drop(): void
}

/** Latest TLS session by credentials. Resuming a session saves a full handshake on reconnecting, even after a hub's restart. */
const sessions = new WeakMap<HubCredentials, Buffer>()

// Deadline for TCP, TLS and WebSocket handshake together, in milliseconds. It is longer than the 30 s that valid connections may wait at
// the hub while a whole fleet reconnects (docs/decisions.md, "Devices").
const HANDSHAKE_TIMEOUT_MS = 45_000
// Largest WebSocket message, in bytes. It exceeds the largest frame, which has 1 MiB and 9 bytes (docs/protocol.md 2.10). A longer frame is
// then rejected by the link and not by the WebSocket library.
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024

/**
 * Opens the WebSocket to the hub and, on it, the link, which multiplexes channels (docs/protocol.md 1). Rejects with `HubRefusedError` for
 * an HTTP status other than 101, with the socket's error, with `ProxyError` if neither a proxy nor a direct connection leads there, or with
 * the signal's reason.
 */
export function connectToHub(credentials: HubCredentials, options: ConnectOptions): Promise<HubConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<HubConnection>()
  const { signal, onRequest, onReturnBound } = options
  if (signal?.aborted) return Promise.reject(signal.reason)
  const url = connectUrl(credentials.hubUrl)
  const session = sessions.get(credentials)
  const { proxy } = credentials
  let via: string | undefined
  const route = proxy && {
    proxy,
    signal,
    timeoutMs: options.proxyTimeoutMs,
    ...(options.onProxyFailure && { onFailure: options.onProxyFailure }),
    onTunnel: () => {
      via = proxyName(proxy)
    },
  }
  const webSocket = new WebSocket(url, {
    headers: connectHeaders(credentials, options.isRegistered),
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handshakeTimeout: options.timeoutMs ?? HANDSHAKE_TIMEOUT_MS,
    ...(route && { createConnection: connectionsVia(route, url.protocol === 'wss:') }),
    ...(url.protocol === 'wss:' && {
      cert: credentials.certificate.certificatePem,
      key: credentials.certificate.keyPem,
      rejectUnauthorized: !credentials.acceptInvalidCertificates,
      ...(session && { session }),
    }),
  })
  let socket: Socket | undefined
  const abort = () => {
    reject(signal?.reason)
    webSocket.terminate()
  }
  signal?.addEventListener('abort', abort, { once: true })
  const settled = () => signal?.removeEventListener('abort', abort)
  // This listener is never removed. Terminating the handshake emits another error event, and an error event without a listener
  // would end the process.
  webSocket.on('error', error => {
    settled()
    reject(error)
  })
  webSocket.once('upgrade', response => {
    socket = response.socket
  })
  webSocket.once('unexpected-response', (_request, response) => {
    void readRefusal(response, via)
      .then(reject)
      .finally(() => {
        settled()
        webSocket.terminate()
      })
  })
  webSocket.once('open', () => {
    settled()
    if (socket === undefined) return
    if (socket instanceof TLSSocket) {
      socket.on('session', ticket => sessions.set(credentials, ticket))
      // The session ticket may have arrived with the handshake, before the listener for `session` was added.
      const early = socket.getSession()
      if (early) sessions.set(credentials, early)
    }
    // The hub's first message may have arrived already. The WebSocket emits it right after this listener returns, so the link must be
    // attached before.
    const transport = new WebSocketTransport(webSocket, socket)
    const link = new Link(transport, { onRequest, onReturnBound, limits: AGENT_LIMITS })
    transport.deliverTo(link)
    resolve({ link, drop: () => transport.close(true) })
  })
  return promise
}

/** Limit of channel requests that are neither accepted nor rejected yet, as in published Nexigon agents (docs/protocol.md 2.10). */
const AGENT_LIMITS = { maxPendingRequests: 32 }

/**
 * URL of the hub's WebSocket. Its path replaces the path of the configured URL; query and fragment are omitted (docs/protocol.md 1.1).
 */
export function connectUrl(hubUrl: string): URL {
  const { protocol, host } = new URL(hubUrl)
  return new URL(`${protocol === 'https:' ? 'wss:' : 'ws:'}//${host}/api/v1/connect/ws`)
}

/** Headers of the connection request (docs/protocol.md 1.2). Over plain HTTP, `X-Client-Cert` contains the certificate. */
export function connectHeaders(credentials: HubCredentials, isRegistered: boolean): Record<string, string> {
  const isPlaintext = new URL(credentials.hubUrl).protocol === 'http:'
  return {
    Authorization: `Bearer ${credentials.token}`,
    'X-Register-Connection': String(isRegistered),
    'X-Deployment-Token': credentials.token,
    'X-Device-Fingerprint': credentials.fingerprint,
    // The hub compares the instances of registered connections only.
    ...(isRegistered && { 'X-Agent-Instance': agentInstance() }),
    ...(isPlaintext && { 'X-Client-Cert': percentEncode(credentials.certificate.certificatePem) }),
  }
}

/** Percent-encodes all characters except `A-Z a-z 0-9 - _ . ~` (docs/protocol.md 1.2). */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

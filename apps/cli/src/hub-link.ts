import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { errorOf } from '@muster/actions/client'
import { Link, WebSocketTransport } from '@muster/link'
import { connectionsVia, type SiteProxy } from '@muster/link/site-proxy'
import { WebSocket } from 'ws'
import type { Access } from './config.ts'
import { trustSystemAuthorities } from './trust.ts'

/**
 * Deadline for TCP, TLS and WebSocket handshake together, in milliseconds. It is longer than the 30 s that valid connections may wait at
 * the hub while a whole fleet reconnects (docs/decisions.md, "Devices").
 */
const HANDSHAKE_TIMEOUT_MS = 45_000
/**
 * Largest WebSocket message, in bytes. It exceeds the largest frame, which has 1 MiB and 9 bytes (docs/protocol.md 2.10). A longer frame is
 * then rejected by the link and not by the WebSocket library.
 */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024

/**
 * Opens a link (a WebSocket with multiplexed channels) to a hub with a user token (docs/protocol.md 1, 7.2). Rejects with `ActionError` for
 * a refusal, with the socket's error, or with the signal's reason.
 */
export function openLink({ hubUrl, token }: Access, signal: AbortSignal, proxy?: SiteProxy): Promise<Link> {
  const { promise, resolve, reject } = Promise.withResolvers<Link>()
  trustSystemAuthorities(hubUrl, proxy?.url)
  const webSocket = new WebSocket(`${hubUrl.replace(/^http/, 'ws')}/api/v1/connect/ws`, {
    headers: { authorization: `Bearer ${token}`, 'x-user-token': token, 'x-register-connection': 'true' },
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ...(proxy && {
      createConnection: connectionsVia({ proxy, signal }, hubUrl.startsWith('https:')),
    }),
  })
  const abort = () => {
    reject(signal.reason)
    webSocket.terminate()
  }
  signal.addEventListener('abort', abort, { once: true })
  let socket: Socket
  webSocket.on('error', reject)
  webSocket.once('upgrade', response => {
    socket = response.socket
  })
  webSocket.once('unexpected-response', (_request, response) => {
    text(response)
      .catch(() => '')
      .then(body => errorOf(new Response(body, { status: response.statusCode ?? 500 })))
      .then(reject, reject)
      .finally(() => webSocket.terminate())
  })
  webSocket.once('open', () => {
    // The hub's first message may have arrived already. The WebSocket emits it right after this listener returns, so the link must be
    // attached before.
    const transport = new WebSocketTransport(webSocket, socket)
    const link = new Link(transport)
    transport.deliverTo(link)
    resolve(link)
  })
  return promise.finally(() => signal.removeEventListener('abort', abort))
}

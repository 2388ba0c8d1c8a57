import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type ChannelRequest, Link, WebSocketTransport } from '@muster/link'
import { createCertificate } from '@muster/link/certificate'
import { type WebSocket, WebSocketServer } from 'ws'
import { endWithResponse } from '../../platform/net/last-answer.ts'
import { isLoopbackAddress, remoteAddress } from '../../platform/net/trusted-proxy.ts'
import { LineBudget } from '../../platform/runtime/line-budget.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import {
  bindingOf,
  challengeHeaders,
  HANDSHAKE_MS,
  type Handshake,
  isProven,
  MAX_PROOF_CHARACTERS,
  NODE_LINK_PATH,
  newChallenge,
  proofsOf,
  readChallenge,
} from './handshake.ts'
import { logNodeLinkEnd, MAX_MESSAGE_BYTES, NODE_LINK } from './link-settings.ts'

/** Maximum number of connections to the listener, including unauthenticated clients. */
const MAX_CONNECTIONS = 512
/** Maximum number of concurrent handshakes. */
const MAX_HANDSHAKES = 64
/** Maximum number of refusals that are logged per minute. */
const LOGGED_REFUSALS = 100

/** Deadlines before the handshake, in milliseconds. Node.js checks them every `connectionsCheckingInterval`. */
const SERVER = {
  headersTimeout: HANDSHAKE_MS,
  requestTimeout: HANDSHAKE_MS,
  connectionsCheckingInterval: HANDSHAKE_MS,
}

type ListenerOptions = {
  nodeId: string
  /** Keys derived from the instance keys (`nodeLinkKeys`). */
  keys: readonly Buffer[]
  isSecure: boolean
  /** Whether plain HTTP is accepted from other machines. */
  allowPlaintext: boolean
  /** Whether a node is in the cluster and has stored a heartbeat in the last 20 s. */
  isRunning: (nodeId: string) => Promise<boolean>
  /** Serves a channel request of another node. */
  serve: (request: ChannelRequest) => Promise<void>
  log: Logger
}

/** Accepts links from other nodes on a separate port. Refuses clients that cannot prove the instance key, and logs each refusal. */
export class NodeListener implements AsyncDisposable {
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  })
  /** Response headers for each accepted upgrade request. */
  readonly #answers = new WeakMap<IncomingMessage, Record<string, string>>()
  /** The link of each node. A newer link of a node replaces its older one. */
  readonly #links = new Map<string, Link>()
  #handshakes = 0
  readonly #refusals = new LineBudget(LOGGED_REFUSALS)

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#server = options.isSecure ? tlsServer() : createServer(SERVER)
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.on('request', (_request, response) => response.writeHead(426).end())
    this.#server.on('upgrade', (request, socket: Socket, head) => void this.#upgrade(request, socket, head))
    this.#webSockets.on('headers', (headers: string[], request: IncomingMessage) => {
      for (const [name, value] of Object.entries(this.#answers.get(request) ?? {}))
        headers.push(`${name}: ${value}`)
    })
    this.#webSockets.on('wsClientError', (error: Error, socket: Socket) =>
      this.#refuse(socket, 400, error.message),
    )
  }

  /** Listens and resolves to the port. Rejects with the error of the operating system. */
  async listen(host: string, port: number): Promise<number> {
    await once(this.#server.listen(port, host), 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links.values()) link.close('the hub is shutting down')
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    // Until the WebSocket takes over, the socket has no other 'error' listener. Without this listener a reset would crash the process.
    socket.on('error', ignore)
    if (this.#handshakes >= MAX_HANDSHAKES) return this.#refuse(socket, 503, 'too many handshakes')
    this.#handshakes++
    try {
      const handshake = await this.#begin(request, socket)
      if (handshake === undefined || socket.destroyed) return
      const { keys } = this.#options
      this.#answers.set(request, {
        ...challengeHeaders(handshake.server),
        'X-Muster-Proof': proofsOf(keys, 'server', handshake).join(),
      })
      const { promise, resolve } = Promise.withResolvers<void>()
      socket.once('close', resolve)
      this.#webSockets.handleUpgrade(request, socket, head, webSocket =>
        this.#expectProof(webSocket, socket, handshake, resolve),
      )
      await promise
    } catch (error) {
      this.#options.log.error({ err: error }, 'node link failed')
      socket.destroy()
    } finally {
      this.#handshakes--
    }
  }

  /** Checks an upgrade request and answers it with this node's challenge. Resolves to undefined when the request was refused. */
  async #begin(request: IncomingMessage, socket: Socket): Promise<Handshake | undefined> {
    const { nodeId, isSecure, allowPlaintext, isRunning } = this.#options
    const refuse = (status: number, reason: string) => void this.#refuse(socket, status, reason)
    if (!isSecure && !allowPlaintext && !isLoopbackAddress(remoteAddress(request)))
      return refuse(403, 'plain HTTP from another machine')
    if (request.url !== NODE_LINK_PATH) return refuse(404, 'no such endpoint')
    const client = readChallenge(request.headers)
    if (client === undefined) return refuse(400, 'malformed challenge')
    if (request.headers['x-muster-to'] !== nodeId) return refuse(421, 'meant for another node')
    if (client.nodeId === nodeId) return refuse(403, 'claims the name of this node')
    const isKnown = await isRunning(client.nodeId).catch(() => undefined)
    if (isKnown === undefined) return refuse(503, 'the database does not answer')
    if (!isKnown) return refuse(403, 'claims the name of a node that does not run')
    return { client, server: newChallenge(nodeId), binding: bindingOf(socket) }
  }

  /** Makes a WebSocket a link once its first message proves that the other side knows the instance key. */
  #expectProof(webSocket: WebSocket, socket: Socket, handshake: Handshake, done: () => void): void {
    const { keys } = this.#options
    let isDecided = false
    const refuse = (reason: string): void => {
      if (isDecided) return
      isDecided = true
      clearTimeout(timer)
      this.#log(socket, reason, handshake.client.nodeId)
      webSocket.close(1008, reason)
      setTimeout(() => webSocket.terminate(), HANDSHAKE_MS).unref()
      done()
    }
    const timer = setTimeout(() => refuse('no proof in time'), HANDSHAKE_MS)
    webSocket.on('error', error => refuse(error.message))
    webSocket.once('close', () => refuse('closed without a proof'))
    webSocket.once('message', (data: Buffer, isBinary) => {
      if (isDecided) return
      if (isBinary || data.length > MAX_PROOF_CHARACTERS) return refuse('the first message is no proof')
      // After this process was suspended, a late message can be read before the timer of the deadline fires.
      if (Date.now() > handshake.server.expiresAtMs) return refuse('expired proof')
      if (!isProven(keys, 'client', handshake, data.toString())) return refuse('wrong proof')
      isDecided = true
      clearTimeout(timer)
      this.#accept(new WebSocketTransport(webSocket, socket), handshake.client.nodeId)
      done()
    })
  }

  #accept(transport: WebSocketTransport, nodeId: string): void {
    const { log, serve } = this.#options
    const link: Link = new Link(transport, {
      ...NODE_LINK,
      onRequest: request => {
        serve(request).catch(error => {
          log.error({ err: error, nodeId }, 'channel of another node not served')
          request.reject('internal error')
        })
      },
      onError: error => log.error({ err: error, nodeId }, 'node link failed'),
      onEnded: end => {
        if (this.#links.get(nodeId) === link) this.#links.delete(nodeId)
        logNodeLinkEnd(log, { nodeId }, end, 'node link of another node ended')
      },
    })
    const before = this.#links.get(nodeId)
    this.#links.set(nodeId, link)
    before?.close('replaced by a newer link of this node')
    transport.deliverTo(link)
    log.info({ nodeId }, 'node link accepted')
  }

  #refuse(socket: Socket, status: number, reason: string): void {
    this.#log(socket, reason)
    endWithResponse(socket, `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  }

  #log(socket: Socket, reason: string, nodeId?: string): void {
    if (!this.#refusals.take()) return
    this.#options.log.warn({ remote: socket.remoteAddress, nodeId, reason }, 'node link refused')
  }
}

/** HTTPS server with a new self-signed certificate. Clients do not check it: the proofs authenticate both ends of the TLS session. */
function tlsServer(): Server {
  const { certificatePem: cert, keyPem: key } = createCertificate('muster node')
  return createTlsServer({ ...SERVER, cert, key, minVersion: 'TLSv1.3', handshakeTimeout: HANDSHAKE_MS })
}

function ignore(): void {}

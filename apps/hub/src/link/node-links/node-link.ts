import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isLoopback } from '@muster/actions'
import {
  type Channel,
  ChannelRejectedError,
  Link,
  type LinkEnd,
  LinkEndedError,
  type OpenOptions,
  WebSocketTransport,
} from '@muster/link'
import { WebSocket } from 'ws'
import type { Logger } from '../../platform/runtime/log.ts'
import type { ReachableDevice } from '../links/registry.ts'
import {
  bindingOf,
  challengeHeaders,
  HANDSHAKE_MS,
  isProven,
  NODE_LINK_PATH,
  newChallenge,
  proofsOf,
  readChallenge,
} from './handshake.ts'
import { logNodeLinkEnd, MAX_MESSAGE_BYTES, NODE_LINK } from './link-settings.ts'
import { NOT_CONNECTED, REJECTED_BY_DEVICE, type RemoteConnection, remoteEndpoint } from './serve-device.ts'

/** Time that the other node gets to answer a channel request, in addition to the timeout of the device, in milliseconds. */
const RELAY_MS = 5_000
/** Timeout of a channel to a device, in milliseconds, unless the caller sets one. */
const OPEN_TIMEOUT_MS = 15_000

type NodeLinkOptions = {
  /** Id of this node. */
  nodeId: string
  keys: readonly Buffer[]
  /** Whether links without TLS to other machines are allowed. */
  allowPlaintext: boolean
  /** Time after which an unused device is forgotten, in milliseconds. The link closes when no device is left. */
  idleMs: number
  log: Logger
}

/** Another node, with the address at which it accepts links. */
export type PeerNode = { nodeId: string; url: string }

/**
 * A link that this node opens to another node, for all devices that are connected there. The constructor starts to connect. The link
 * closes when no device was used for `idleMs`. An ended link is never reopened.
 */
export class NodeLink {
  readonly peer: PeerNode
  /** Resolves when the link has ended or could not be opened. Never rejects. */
  readonly ended: Promise<LinkEnd>
  readonly #options: NodeLinkOptions
  readonly #devices = new Map<string, RemoteDevice>()
  readonly #opening: Promise<Link>
  readonly #sweep: NodeJS.Timeout
  #isOver = false
  #isClosed = false

  constructor(peer: PeerNode, options: NodeLinkOptions) {
    this.peer = peer
    this.#options = options
    this.#opening = openLink(peer, options)
    this.#sweep = setInterval(() => this.#endUnused(), options.idleMs / 2).unref()
    this.ended = this.#opening
      .then(
        link => link.ended,
        (error: Error): LinkEnd => ({ kind: 'TransportClosed', reason: error.message }),
      )
      .then(end => {
        this.#isOver = true
        clearInterval(this.#sweep)
        for (const device of this.#devices.values()) device.end()
        logNodeLinkEnd(options.log, { ...peer }, end, 'node link ended')
        return end
      })
  }

  /** False once the link has ended or could not be opened. */
  get isUsable(): boolean {
    return !this.#isOver
  }

  /** True once this node has closed the link. A new link may then be opened without a pause. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Returns the device of a connection at the other node: the same object as long as the connection and this link last. */
  device(connection: RemoteConnection): ReachableDevice {
    const { connectionId } = connection
    const known = this.#devices.get(connectionId)
    if (known !== undefined) {
      known.touch()
      return known
    }
    const device = new RemoteDevice(this, connection)
    this.#devices.set(connectionId, device)
    void device.ended.then(() => this.#devices.delete(connectionId))
    void device.watch()
    return device
  }

  /** Opens a channel. Rejects with `ChannelRejectedError` or `LinkEndedError`. */
  async open(endpoint: string, options: OpenOptions): Promise<Channel> {
    let link: Link
    try {
      link = await this.#opening
    } catch {
      throw new LinkEndedError(await this.ended)
    }
    return link.open(endpoint, options)
  }

  close(reason: string): void {
    this.#isClosed = true
    this.#opening.then(
      link => link.close(reason),
      () => {},
    )
  }

  #endUnused(): void {
    const beforeMs = performance.now() - this.#options.idleMs
    for (const device of this.#devices.values()) if (device.isUnusedSince(beforeMs)) device.end()
    if (this.#devices.size === 0) this.close('unused')
  }
}

/** A device that is connected to another node. */
class RemoteDevice implements ReachableDevice {
  readonly ended: Promise<void>
  readonly #node: NodeLink
  readonly #connection: RemoteConnection
  readonly #resolveEnded: () => void
  #watching: Channel | undefined
  #hasEnded = false
  #channels = 0
  #usedAtMs = performance.now()

  constructor(node: NodeLink, connection: RemoteConnection) {
    this.#node = node
    this.#connection = connection
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#resolveEnded = resolve
  }

  touch(): void {
    this.#usedAtMs = performance.now()
  }

  isUnusedSince(ms: number): boolean {
    return this.#channels === 0 && this.#usedAtMs < ms
  }

  async open(endpoint: string, { signal, timeoutMs = OPEN_TIMEOUT_MS }: OpenOptions = {}): Promise<Channel> {
    this.#channels++
    const release = (): void => {
      this.#channels--
      this.touch()
    }
    try {
      const channel = await this.#openRemote(endpoint, { signal, timeoutMs: timeoutMs + RELAY_MS })
      void channel.closed.then(release)
      return channel
    } catch (error) {
      release()
      throw error
    }
  }

  /** Waits until the device's connection to the other node ends, and then ends this object. */
  async watch(): Promise<void> {
    try {
      this.#watching = await this.#openRemote('watch', { timeoutMs: RELAY_MS })
    } catch {
      // Without a watch, the end of the connection is found when the next channel to the device is opened.
      return
    }
    if (this.#hasEnded) this.#watching.close()
    await this.#watching.read().catch(() => {})
    this.end()
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#watching?.close()
    this.#resolveEnded()
  }

  /** Opens a channel through the other node. Rejects with the same errors as a device that is connected to this node. */
  async #openRemote(endpoint: string, options: OpenOptions): Promise<Channel> {
    try {
      return await this.#node.open(remoteEndpoint(this.#connection, endpoint), options)
    } catch (error) {
      if (!(error instanceof ChannelRejectedError)) throw error
      const { reason } = error
      if (reason.startsWith(REJECTED_BY_DEVICE))
        throw new ChannelRejectedError(reason.slice(REJECTED_BY_DEVICE.length))
      if (reason !== NOT_CONNECTED) throw error
      this.end()
      throw new LinkEndedError({ kind: 'PeerClose', reason })
    }
  }
}

/**
 * Connects to another node. Both sides prove that they know the instance key. Rejects when the other side cannot prove it, is another node
 * than expected, or does not answer in time.
 */
async function openLink(
  peer: PeerNode,
  { nodeId, keys, allowPlaintext, log }: NodeLinkOptions,
): Promise<Link> {
  if (!peer.url.startsWith('https:') && !allowPlaintext && !isLoopback(peer.url))
    throw new Error('found plain HTTP to another machine, expected https')
  const client = newChallenge(nodeId)
  const headers = { ...challengeHeaders(client), 'X-Muster-To': peer.nodeId }
  const { webSocket, answer } = await upgraded(peer.url, headers)
  const { socket } = answer
  try {
    const server = readChallenge(answer.headers)
    if (server?.nodeId !== peer.nodeId) throw new Error('another node answers at this address')
    if (Date.now() > client.expiresAtMs) throw new Error('the other node answered too late')
    const handshake = { client, server, binding: bindingOf(socket) }
    if (!isProven(keys, 'server', handshake, String(answer.headers['x-muster-proof'])))
      throw new Error('the other side does not prove the instance key for this connection')
    webSocket.send(proofsOf(keys, 'client', handshake).join())
  } catch (error) {
    webSocket.terminate()
    throw error
  }
  const transport = new WebSocketTransport(webSocket, socket)
  const link = new Link(transport, {
    ...NODE_LINK,
    onError: error => log.error({ err: error, nodeId: peer.nodeId }, 'node link failed'),
  })
  transport.deliverTo(link)
  return link
}

/** Opens a WebSocket. Its certificate is not checked, because both sides prove the instance key for this very TLS session. */
async function upgraded(
  url: string,
  headers: Record<string, string>,
): Promise<{ webSocket: WebSocket; answer: IncomingMessage & { socket: Socket } }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const webSocket = new WebSocket(url.replace(/^http/, 'ws') + NODE_LINK_PATH, {
    headers,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
  })
  let answer: IncomingMessage | undefined
  webSocket.once('upgrade', (response: IncomingMessage) => {
    answer = response
  })
  webSocket.once('open', resolve)
  webSocket.once('unexpected-response', (_request, { statusCode }: IncomingMessage) => {
    reject(new Error(`the other node answered with status ${statusCode}`))
    webSocket.terminate()
  })
  webSocket.on('error', reject)
  await promise
  return { webSocket, answer: answer! }
}

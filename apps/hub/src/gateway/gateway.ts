import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError, type ConnectionEndReason } from '@muster/actions'
import {
  type ChannelRequest,
  errorEnvelope,
  Link,
  type LinkEnd,
  okEnvelopeOfJson,
  serveExecutor,
} from '@muster/link'
import type pg from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Caller } from '../caller.ts'
import type { Config } from '../config.ts'
import type { Db } from '../database/connection.ts'
import type { Pipeline } from '../invoke.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Logger } from '../log.ts'
import { Admission } from './admission.ts'
import { type Connected, createAuthenticator } from './authenticate.ts'
import { certificateReader, remoteAddress } from './client-certificate.ts'
import type { Presence } from './presence.ts'
import { Refusal } from './refusal.ts'
import type { DeviceRegistry, DeviceSession } from './registry.ts'
import { driveLink, webSocketTransport } from './web-socket-transport.ts'

const PATH = '/api/v1/connect/ws'
/** Largest WebSocket message: the largest frame of a link (protocol 2.10). */
const MAX_MESSAGE_BYTES = 1024 * 1024 + 9

type GatewayOptions = {
  config: Config
  db: Db
  pool: pg.Pool
  pipeline: Pipeline
  presence: Presence
  devices: DeviceRegistry
  live: LiveHub
  log: Logger
}

/** Accepts devices and command lines on the HTTP server that it is attached to. */
export type Gateway = {
  attach(server: Server): void
  /** Ends every connection, telling why; resolves when all are gone or the time is over. */
  close(): Promise<void>
}

export function createGateway(options: GatewayOptions): Gateway {
  const { config, db, pool, pipeline, presence, devices, live, log } = options
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    skipUTF8Validation: true,
  })
  const admission = new Admission({ maxRunning: 32, maxWaiting: 20_000, maxWaitMs: 30_000 })
  const authenticate = createAuthenticator({
    db,
    pool,
    readCertificate: certificateReader(config),
    onEnrolled: ({ caller, isNewDevice, status }) => {
      log.info(
        { deviceId: caller.deviceId, projectId: caller.projectId, isNewDevice, status },
        'certificate first seen',
      )
      changed('devices', caller)
      changed('certificates', caller)
    },
  })
  const links = new Set<Link>()
  let isClosing = false

  function changed(
    topic: 'devices' | 'certificates' | 'connections',
    caller: Caller & { actor: 'Device' },
  ): void {
    const { organizationId, projectId, deviceId } = caller
    live.changed({ topic, organizationId, projectId, deviceId })
  }

  async function onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    // Until the WebSocket takes over, nobody else listens: a reset must not become an uncaught exception.
    const ignore = (): void => {}
    socket.on('error', ignore)
    try {
      if (new URL(request.url ?? '', 'http://hub').pathname !== PATH)
        throw new Refusal(404, 'Invalid', 'no such endpoint')
      if (isClosing) throw new Refusal(503, 'Internal', 'the hub is shutting down')
      if (!(await admission.enter())) throw new Refusal(503, 'Internal', 'too many devices connect at once')
      let connected: Connected
      try {
        connected = await authenticate(request)
      } finally {
        admission.leave()
      }
      if (socket.destroyed) return
      socket.off('error', ignore)
      socket.setNoDelay(true)
      webSockets.handleUpgrade(request, socket, head, webSocket =>
        onOpen(connected, webSocket, socket, request),
      )
    } catch (error) {
      refuse(request, socket, error)
    }
  }

  function refuse(request: IncomingMessage, socket: Socket, error: unknown): void {
    const refusal =
      error instanceof ActionError
        ? error
        : new ActionError('Internal', 'The hub could not check the connection.', {
            status: 503,
            cause: error,
          })
    const { tokenId, deviceId, place } = refusal instanceof Refusal ? refusal : {}
    const remote = remoteAddress(request)
    if (error instanceof ActionError)
      log.info(
        { tokenId, deviceId, remote, status: refusal.status, reason: refusal.message },
        'connection refused',
      )
    else log.error({ err: error, remote }, 'connection could not be checked')
    answer(socket, refusal)
    if (!tokenId) return
    recordRefusal(pool, tokenId, deviceId, refusal.message).then(
      () =>
        place &&
        live.changed({ topic: deviceId ? 'devices' : 'tokens', ...place, ...(deviceId && { deviceId }) }),
      failure => log.error({ err: failure, tokenId, deviceId }, 'refusal not recorded'),
    )
  }

  function onOpen(
    connected: Connected,
    webSocket: WebSocket,
    socket: Socket,
    request: IncomingMessage,
  ): void {
    const { caller } = connected
    const link = new Link(webSocketTransport(webSocket, socket), {
      onRequest: channel => onChannelRequest(caller, channel),
    })
    links.add(link)
    void link.ended.then(() => links.delete(link))
    driveLink(link, webSocket, socket)
    const about = { ...idsOf(caller), remote: remoteAddress(request) }
    if (connected.kind === 'device') {
      const isRegistered = request.headers['x-register-connection'] === 'true'
      void holdDevice(connected, link, isRegistered, about)
      return
    }
    void link.ended.then(end => logEnd(about, end))
  }

  /** A device from its first frame to its end. */
  async function holdDevice(
    { caller, certificateId }: Connected & { kind: 'device' },
    link: Link,
    isRegistered: boolean,
    about: object,
  ): Promise<void> {
    const { deviceId, projectId, organizationId, tokenId } = caller
    const session: DeviceSession = {
      deviceId,
      projectId,
      organizationId,
      tokenId,
      certificateId,
      close: reason => link.close(reason),
    }
    devices.add(session)
    if (isRegistered) devices.register(session)?.close('replaced by a newer connection of this device')
    let connectionId: string | undefined
    try {
      if (isRegistered) {
        connectionId = await presence.open({ deviceId, tokenId, certificateId })
        if (connectionId === undefined) link.close('certificate or token is no longer valid')
        else {
          log.info({ ...about, connectionId }, 'device connected')
          changed('devices', caller)
          changed('connections', caller)
        }
      }
      logEnd({ ...about, connectionId, isRegistered }, await link.ended)
    } catch (error) {
      log.error({ ...about, err: error }, 'connection not recorded')
      link.close('the connection could not be recorded')
    } finally {
      devices.remove(session)
    }
    if (connectionId === undefined) return
    const reason: ConnectionEndReason = isClosing ? 'ServerShutdown' : 'Disconnected'
    await presence
      .close(connectionId, reason)
      .catch(error => log.error({ ...about, err: error }, 'end of connection not recorded'))
    changed('devices', caller)
    changed('connections', caller)
  }

  function logEnd(about: object, end: LinkEnd): void {
    const isFault = end.kind === 'Violation' || end.kind === 'ConsumerTooSlow'
    log[isFault ? 'warn' : 'info']({ ...about, end: end.kind, reason: end.reason }, 'connection ended')
  }

  function onChannelRequest(caller: Caller, request: ChannelRequest): void {
    if (request.endpoint === 'executor')
      serveExecutor(request.accept(), (name, input) => execute(caller, name, input))
    else request.reject('unknown endpoint')
  }

  async function execute(caller: Caller, name: string, input: Uint8Array): Promise<string> {
    const requestId = crypto.randomUUID()
    try {
      return okEnvelopeOfJson(await pipeline.invoke(caller, name, decode(input), requestId))
    } catch (error) {
      const failure =
        error instanceof ActionError ? error : new ActionError('Internal', 'Something went wrong on the hub.')
      if (!(error instanceof ActionError))
        log.error({ err: error, ...idsOf(caller), action: name }, 'executor failed')
      return errorEnvelope(failure.kind, failure.message)
    }
  }

  return {
    attach(server) {
      server.on(
        'upgrade',
        (request: IncomingMessage, socket: Socket, head: Buffer) => void onUpgrade(request, socket, head),
      )
    },
    async close() {
      isClosing = true
      const all = [...links]
      for (const link of all) link.close('the hub is shutting down')
      const timeout = new Promise(done => setTimeout(done, 5_000).unref())
      await Promise.race([Promise.all(all.map(link => link.ended)), timeout])
    },
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(input: Uint8Array): string {
  try {
    return decoder.decode(input)
  } catch (cause) {
    throw new ActionError('Invalid', 'The input is not valid UTF-8.', { cause })
  }
}

/** Answers an upgrade that is refused: status and the error body of the HTTP door (protocol 1.6). */
function answer(socket: Socket, { status, kind, message }: ActionError): void {
  if (!socket.writable) return
  const body = JSON.stringify({ kind, message })
  const reasons: Record<number, string> = {
    400: 'Bad Request',
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'Not Found',
  }
  socket.end(
    `HTTP/1.1 ${status} ${reasons[status] ?? 'Service Unavailable'}\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Keeps the last refusal of a token and of a device, with how often the same happened in a row. */
async function recordRefusal(
  pool: pg.Pool,
  tokenId: string,
  deviceId: string | undefined,
  reason: string,
): Promise<void> {
  await pool.query(
    `with token as (
       update deployment_token set last_refusal_at = now(), last_refusal_reason = $3,
         last_refusal_count = case when last_refusal_reason = $3 then last_refusal_count + 1 else 1 end
        where token_id = $1
     )
     update device set last_refusal_at = now(), last_refusal_reason = $3,
       last_refusal_count = case when last_refusal_reason = $3 then last_refusal_count + 1 else 1 end
      where device_id = $2`,
    [tokenId, deviceId ?? null, reason],
  )
}

function idsOf(caller: Caller): object {
  if (caller.actor === 'Device') return { deviceId: caller.deviceId, projectId: caller.projectId }
  return caller.actor === 'UserToken' ? { userId: caller.userId, tokenId: caller.tokenId } : {}
}

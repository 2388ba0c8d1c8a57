import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ActionError } from '@muster/actions'
import {
  type ChannelRequest,
  errorEnvelope,
  Link,
  okEnvelopeOfJson,
  serveExecutor,
  WebSocketTransport,
} from '@muster/link'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Caller, DeviceCaller } from '../caller.ts'
import type { Config } from '../config.ts'
import { askedAgain } from '../database/asked-again.ts'
import type { Db } from '../database/connection.ts'
import { bareAnswer, securityHeaders } from '../http/security-headers.ts'
import type { Sessions } from '../http/sessions.ts'
import { InFlight } from '../in-flight.ts'
import type { Pipeline } from '../invoke.ts'
import type { LiveHub } from '../live/live-hub.ts'
import type { Logger } from '../log.ts'
import type { HttpProxy } from '../proxy/http-proxy.ts'
import type { RateLimits } from '../rate-limits.ts'
import { Admission } from './admission.ts'
import { type Connected, claimsOf, createAuthenticator } from './authenticate.ts'
import { certificateReader, remoteReader } from './client-certificate.ts'
import { DeviceConnection, type DeviceServices, logEnd, MAX_PING_INTERVAL_MS } from './device-connection.ts'
import { watchRights } from './ended-rights.ts'
import { endWith } from './last-answer.ts'
import type { Presence } from './presence.ts'
import { Refusal } from './refusal.ts'
import { RefusalRecord } from './refusal-record.ts'
import type { DeviceRegistry } from './registry.ts'
import { relay } from './relay.ts'

const PATH = '/api/v1/connect/ws'
/** Largest WebSocket message: the largest frame of a link (protocol 2.10). */
const MAX_MESSAGE_BYTES = 1024 * 1024 + 9
/**
 * A command line opens a channel for each connection to its local port at once, and one that is refused is lost: they wait for
 * places at the device instead. Devices have the limits of their protocol.
 */
const COMMAND_LINE_LIMITS = { maxChannels: 256, maxPendingRequests: 256, requestsPerSecond: 512 }
/** How long the ends of connections may take to be recorded when the hub stops, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000

type GatewayOptions = {
  config: Config
  db: Db
  pool: pg.Pool
  pipeline: Pipeline
  sessions: Sessions
  presence: Presence
  devices: DeviceRegistry
  live: LiveHub
  limits: RateLimits
  proxy: HttpProxy
  log: Logger
}

/** Accepts devices and command lines, and browsers' WebSockets to the web pages of devices. */
export type Gateway = {
  /** Takes a request for an upgrade; never throws. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void
  /** Ends every connection, telling why; resolves when their ends are recorded or the time is over. */
  close(): Promise<void>
}

/** Tells who asks for the gateway's path without an upgrade what is expected there. */
export function refusePlainRequests(app: FastifyInstance): void {
  app.get(PATH, async (_request, reply) => {
    reply.header('upgrade', 'websocket')
    throw new ActionError('Invalid', 'Expected a WebSocket upgrade.', { status: 426 })
  })
}

export function createGateway(options: GatewayOptions): Gateway {
  const { config, db, pool, pipeline, sessions, presence, devices, live, limits, proxy, log } = options
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  })
  webSockets.on('wsClientError', (error: Error, socket: Socket, request: IncomingMessage) =>
    refuse(request, socket, new Refusal(400, 'Invalid', error.message)),
  )
  const remoteOf = remoteReader(config)
  const headers = securityHeaders(config)
  const admission = new Admission({ maxRunning: 32, maxWaiting: 20_000, maxWaitMs: 30_000 })
  const authenticate = createAuthenticator({
    db,
    sessions,
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
  const refusals = new RefusalRecord(pool)
  // Nobody else is on a database that is this hub's own child.
  const rights = config.databaseUrl === undefined ? undefined : watchRights({ db, pool, devices, log })
  /** Sockets that asked for an upgrade and are neither connected nor refused. */
  const arriving = new Set<Socket>()
  /** Links of command lines. */
  const people = new Set<Link>()
  const connections = new InFlight()
  let isClosing = false
  const deviceServices: DeviceServices = {
    presence,
    devices,
    connections,
    log,
    changed,
    execute,
    isClosing: () => isClosing,
  }

  function changed(topic: 'devices' | 'certificates' | 'connections', caller: DeviceCaller): void {
    const { organizationId, projectId, deviceId } = caller
    live.changed({ topic, organizationId, projectId, deviceId })
  }

  async function onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    // Until the WebSocket takes over, nobody else listens: a reset must not become an uncaught exception.
    socket.on('error', ignore)
    if (proxy.isFor(request)) return proxy.upgrade(request, socket, head)
    arriving.add(socket)
    try {
      if (URL.parse(request.url ?? '', 'http://hub')?.pathname !== PATH)
        throw new Refusal(404, 'Invalid', 'no such endpoint')
      refuseWhenClosing()
      if (!(await admission.enter())) throw new Refusal(503, 'Internal', 'too many devices connect at once')
      let connected: Connected
      try {
        if (socket.destroyed) return
        connected = await askedAgain(
          () => authenticate(request),
          () => isClosing || socket.destroyed,
        )
      } finally {
        admission.leave()
      }
      // What is let in now would not be found by those who end connections.
      refuseWhenClosing()
      if (socket.destroyed) return
      socket.off('error', ignore)
      socket.setNoDelay(true)
      // The answer leaves in one write with the link's first frame.
      socket.cork()
      webSockets.handleUpgrade(request, socket, head, webSocket =>
        onOpen(connected, webSocket, socket, request),
      )
      socket.uncork()
    } catch (error) {
      refuse(request, socket, await counted(request, error))
    } finally {
      arriving.delete(socket)
    }
  }

  function refuseWhenClosing(): void {
    if (isClosing) throw new Refusal(503, 'Internal', 'the hub is shutting down')
  }

  /** Counts a refusal by its address, never what came in (decisions); returns it, or beyond the rate what to answer instead. */
  async function counted(request: IncomingMessage, error: unknown): Promise<unknown> {
    if (!(error instanceof Refusal) || error.kind === 'Internal') return error
    return limits.take('device refused', remoteOf(request)).then(
      () => error,
      (tooMany: unknown) => tooMany,
    )
  }

  function refuse(request: IncomingMessage, socket: Socket, error: unknown): void {
    // A flood leaves no rows and no lines: the first of each window tell what there is to know.
    if (error instanceof ActionError && error.kind === 'RateLimited') return void answer(socket, error)
    const refusal =
      error instanceof ActionError
        ? error
        : new ActionError('Internal', 'The hub could not check the connection.', {
            status: 503,
            cause: error,
          })
    const { tokenId, deviceId, place } = refusal instanceof Refusal ? refusal : {}
    const who = { ...claimsOf(request), deviceId, remote: remoteOf(request) }
    if (error instanceof ActionError)
      log.info({ ...who, status: refusal.status, reason: refusal.message }, 'connection refused')
    else log.error({ ...who, err: error }, 'connection could not be checked')
    answer(socket, refusal)
    if (!tokenId) return
    refusals.add({ tokenId, deviceId, reason: refusal.message }).then(
      () => {
        if (!place) return
        live.changed({ topic: 'tokens', ...place })
        if (deviceId) live.changed({ topic: 'devices', ...place, deviceId })
      },
      failure => log.error({ err: failure, tokenId, deviceId }, 'refusal not recorded'),
    )
  }

  /** Answers an upgrade that is refused: status and the error body of the HTTP door (protocol 1.6). */
  function answer(socket: Socket, refusal: ActionError): void {
    endWith(socket, bareAnswer(headers, refusal))
  }

  function onOpen(
    connected: Connected,
    webSocket: WebSocket,
    socket: Socket,
    request: IncomingMessage,
  ): void {
    const transport = new WebSocketTransport(webSocket, socket)
    const remote = remoteOf(request)
    if (connected.kind === 'person') {
      openToPerson(connected, transport, remote)
      return
    }
    const connection = new DeviceConnection(deviceServices, connected, remote)
    const link = new Link(transport, connection)
    transport.deliverTo(link)
    void connections.track(connection.begin(link, request.headers['x-register-connection'] === 'true'))
  }

  function openToPerson(
    connected: Connected & { kind: 'person' },
    transport: WebSocketTransport,
    remote: string,
  ): void {
    const about = { ...idsOf(connected.caller), remote }
    const link = new Link(transport, {
      limits: COMMAND_LINE_LIMITS,
      maxPingIntervalMs: MAX_PING_INTERVAL_MS,
      onRequest: request => {
        if (request.endpoint === 'executor')
          serveExecutor(request.accept(), (name, input) =>
            execute(connected.caller, link, remote, name, input, callerNow(connected, link)),
          )
        else void forwardTo(connected, request)
      },
      onError: error => log.error({ ...about, err: error }, 'link failed'),
      onEnded: end => {
        people.delete(link)
        logEnd(log, about, end)
      },
    })
    people.add(link)
    transport.deliverTo(link)
  }

  async function forwardTo(
    connected: Connected & { kind: 'person' },
    request: ChannelRequest,
  ): Promise<void> {
    try {
      await relay(request, { db, devices, callerNow: () => callerNow(connected, request.link) })
    } catch (error) {
      log.error({ ...idsOf(connected.caller), endpoint: request.endpoint, err: error }, 'forward failed')
      request.reject('the hub could not open the connection')
    }
  }

  /** Runs what came on an executor channel: as who connected, or as who they are `now`. */
  async function execute(
    who: Caller,
    link: Link,
    remote: string,
    name: string,
    input: Uint8Array,
    now?: Promise<Caller>,
  ): Promise<string> {
    const requestId = crypto.randomUUID()
    try {
      const caller = now === undefined ? who : await now
      return okEnvelopeOfJson(await pipeline.invoke(caller, name, decode(input), requestId, remote))
    } catch (error) {
      const failure =
        error instanceof ActionError ? error : new ActionError('Internal', 'Something went wrong on the hub.')
      if (!(error instanceof ActionError))
        log.error({ err: error, ...idsOf(who), action: name }, 'executor failed')
      return errorEnvelope(failure.kind, failure.message, { knowsRateLimited: !link.isPeerLegacy })
    }
  }

  /** A person's token is looked at again for each action, as over HTTP; a device's connection ends with its rights. */
  async function callerNow(connected: Connected & { kind: 'person' }, link: Link): Promise<Caller> {
    const caller = await sessions.callerOf({ bearer: connected.userToken })
    if (caller.actor === 'UserToken') return caller
    link.close('the user token is no longer valid')
    throw new ActionError('Forbidden', 'unknown token', { status: 401 })
  }

  return {
    upgrade: (request, socket, head) => void onUpgrade(request, socket, head),
    async close() {
      isClosing = true
      for (const link of [...people, ...devices.sessions]) link.close('the hub is shutting down')
      await connections.settled(CLOSE_TIMEOUT_MS)
      await rights?.[Symbol.asyncDispose]()
      for (const socket of arriving) socket.destroy()
    },
  }
}

function ignore(): void {}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(input: Uint8Array): string {
  try {
    return decoder.decode(input)
  } catch (cause) {
    throw new ActionError('Invalid', 'The input is not valid UTF-8.', { cause })
  }
}

function idsOf(caller: Caller): object {
  if (caller.actor === 'Device') return { deviceId: caller.deviceId, projectId: caller.projectId }
  return caller.actor === 'UserToken' ? { userId: caller.userId, tokenId: caller.tokenId } : {}
}

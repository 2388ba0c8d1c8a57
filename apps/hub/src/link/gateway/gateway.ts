import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ActionError, findAction } from '@muster/actions'
import { FairLimiter, InFlight } from '@muster/concurrency'
import {
  type ChannelRequest,
  errorEnvelope,
  GO_AWAY,
  Link,
  okEnvelopeOfJson,
  serveExecutor,
  WebSocketTransport,
} from '@muster/link'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Bus } from '../../platform/bus/bus.ts'
import type { EndedRights } from '../../platform/bus/ended-rights.ts'
import type { Config } from '../../platform/config/config.ts'
import { retryWhileUnavailable } from '../../platform/database/client/retry-while-unavailable.ts'
import type { AnswerBudgets } from '../../platform/limits/answer-budgets.ts'
import type { DatabaseShares } from '../../platform/limits/database-shares.ts'
import { DevicePace, REFUSED_CALL_BYTES } from '../../platform/limits/device-pace.ts'
import type { InputBudgets } from '../../platform/limits/input-budgets.ts'
import { LimitReached } from '../../platform/limits/limit-reached.ts'
import type { LimitReports } from '../../platform/limits/limit-reports.ts'
import type { RateLimits } from '../../platform/limits/rate-limits.ts'
import type { Shares } from '../../platform/limits/shares.ts'
import { endWithResponse } from '../../platform/net/last-answer.ts'
import { CHECK_HEADER, CONNECT_PATH } from '../../platform/net/paths.ts'
import { bareAnswer, securityHeaders } from '../../platform/net/security-headers.ts'
import { remoteReader } from '../../platform/net/trusted-proxy.ts'
import type { Caller, DeviceCaller, PersonCaller } from '../../platform/pipeline/caller.ts'
import type { CommandParts } from '../../platform/pipeline/command-transaction.ts'
import { inputTextOf } from '../../platform/pipeline/input-rules.ts'
import type { Pipeline } from '../../platform/pipeline/invoke.ts'
import type { Measures } from '../../platform/runtime/measures.ts'
import type { Sessions } from '../../platform/sessions/sessions.ts'
import { forwardedPort } from '../channels/forwarded-port.ts'
import { openOverLink } from '../channels/link-channel.ts'
import type { DeviceRegistry } from '../links/registry.ts'
import type { Reach } from '../node-links/reach.ts'
import type { HttpProxy } from '../proxy/http-proxy.ts'
import type { TelemetryLane } from '../telemetry/lane.ts'
import { namesAgent } from './agent-info.ts'
import { type Connected, claimsOf, createAuthenticator } from './authenticate.ts'
import { certificateEnds } from './certificate-ends.ts'
import { certificateReader } from './client-certificate.ts'
import { ConnectionCounts, logConnections } from './connection-counts.ts'
import { deploymentTokenUses } from './deployment-token-uses.ts'
import { DeviceConnection, type DeviceServices, logEnd, MAX_PING_INTERVAL_MS } from './device-connection.ts'
import { watchRights } from './ended-rights.ts'
import { EnrolmentBudget } from './enrolment-budget.ts'
import { HeldAnswers } from './held-answers.ts'
import type { Presence } from './presence.ts'
import { Refusal, type RefusalReason, refuseWhenCrowded } from './refusal.ts'
import { RefusalRecord } from './refusal-record.ts'
import { SharedIdentities } from './shared-identities.ts'

/** Largest WebSocket message in bytes: the longest frame of a link (docs/protocol.md 2.10). */
const MAX_MESSAGE_BYTES = 1024 * 1024 + 9
/**
 * Limits of links to command-line clients. A client opens one channel for each TCP connection to its forwarded local port, and a rejected
 * channel breaks that connection. So the limits are above the defaults (docs/protocol.md 2.10), and the hub queues the requests that exceed
 * the lower limits of the device (docs/protocol.md R-17).
 */
const COMMAND_LINE_LIMITS = { maxChannels: 256, maxPendingRequests: 256, requestsPerSecond: 512 }
/** Limits of concurrent authentications (docs/protocol.md 1.4). Further connections wait in order of arrival. */
const AUTHENTICATIONS = { max: 32, maxWaiting: 20_000, waitMs: 30_000 }
/** Minimum time between two warnings that device connections use up their share of the file descriptors, in milliseconds. */
const FULL_LOG_INTERVAL_MS = 60_000
/** Deadline at shutdown for recording the ends of connections, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000
const TOKEN_ENDED = 'the user token is no longer valid'

type GatewayOptions = CommandParts & {
  config: Config
  databaseShares: DatabaseShares
  pool: pg.Pool
  pipeline: Pipeline
  sessions: Sessions
  presence: Presence
  devices: DeviceRegistry
  reach: Reach
  bus: Bus
  rights: EndedRights
  nodeId: string
  limits: RateLimits
  inputs: InputBudgets
  answers: AnswerBudgets
  limitReports: LimitReports
  shares: Shares
  proxy: HttpProxy
  measures: Measures | undefined
  /** Undefined if all actions of devices take the pipeline. */
  lane: TelemetryLane | undefined
  /** The function `current` of this node's `ClusterNode`. Actions of devices await it, so that no ended right is used. */
  current: () => Promise<void> | undefined
}

/** Accepts WebSockets of devices, of command-line clients, and of browsers that view the web pages of devices. */
export type Gateway = {
  /** Connections since the start of this node. */
  readonly counts: ConnectionCounts
  /** Number of upgrade requests whose authentication has not ended. */
  readonly waitingCount: number
  /** Number of open links of command-line clients. */
  readonly personCount: number
  /** Handles an HTTP upgrade request. Never throws. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void
  /** Refuses further upgrades. Connections that this node closes from now on end as `ServerShutdown`. */
  drain(): void
  /** Closes all connections because of the shutdown. Resolves when their ends are recorded or `CLOSE_TIMEOUT_MS` has passed. */
  close(): Promise<void>
}

/** Refuses plain HTTP requests to the gateway's path with 426, because it expects a WebSocket upgrade. */
export function refusePlainRequests(app: FastifyInstance): void {
  app.get(CONNECT_PATH, async (_request, reply) => {
    reply.header('upgrade', 'websocket')
    throw new ActionError('Invalid', 'Expected a WebSocket upgrade.', { status: 426 })
  })
}

/** Creates the gateway, which authenticates upgrade requests and serves the links that result from them. */
export function createGateway(options: GatewayOptions): Gateway {
  const {
    config,
    db,
    pool,
    pipeline,
    sessions,
    presence,
    devices,
    live,
    limits,
    inputs,
    answers,
    proxy,
    log,
  } = options
  const { databaseShares, limitReports, shares, reach, bus, rights, nodeId, current, measures, lane, jobs } =
    options
  const parts: CommandParts = { db, live, jobs, log }
  const pace = new DevicePace(config.limits, limitReports)
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  })
  webSockets.on('wsClientError', (error: Error, socket: Socket, request: IncomingMessage) =>
    refuse(request, socket, new Refusal('malformed', 400, 'Invalid', error.message)),
  )
  const remoteOf = remoteReader(config)
  const headers = securityHeaders(config)
  const admission = new FairLimiter(AUTHENTICATIONS)
  const authenticate = createAuthenticator({
    parts,
    sessions,
    readCertificate: certificateReader(config),
    remoteOf,
    budget: new EnrolmentBudget({ pool, values: config.limits, rates: limits }),
    limits: config.limits,
    onEnrolled: ({ caller, isNewDevice, status }) => {
      log.info(
        { deviceId: caller.deviceId, projectId: caller.projectId, isNewDevice, status },
        'certificate first seen',
      )
    },
  })
  const refusals = new RefusalRecord(pool)
  const tokenUses = deploymentTokenUses(pool, log)
  const recordEnd = certificateEnds(pool, log)
  const heldAnswers = new HeldAnswers()
  // No other node uses an embedded database, so no rights end at other nodes.
  const watched =
    config.databaseUrl === undefined
      ? undefined
      : watchRights({ db, pool, devices, rights, bus, nodeId, log })
  /** Sockets whose upgrade request is neither accepted nor refused yet. */
  const arriving = new Set<Socket>()
  /** Links of command-line clients. */
  const people = new Set<Link>()
  const connections = new InFlight()
  const counts = new ConnectionCounts()
  const summaries = logConnections(counts, () => devices.connectedCount, log)
  let isDraining = false
  let isClosing = false
  let fullLoggedAtMs = Number.NEGATIVE_INFINITY
  const deviceServices: DeviceServices = {
    presence,
    sharedIdentities: new SharedIdentities({ ...parts, counts }),
    devices,
    connections,
    log,
    counts,
    inputs,
    changed,
    execute,
    executeOverLane,
    isDraining: () => isDraining,
    isClosing: () => isClosing,
  }

  function changed(topic: 'devices' | 'connections', caller: DeviceCaller): void {
    const { organizationId, projectId, deviceId } = caller
    live.changed({ topic, organizationId, projectId, deviceId })
  }

  async function onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    // Until the WebSocket takes over, the socket has no other 'error' listener. Without this listener a reset would crash the process.
    socket.on('error', ignore)
    if (proxy.isFor(request)) return proxy.upgrade(request, socket, head)
    arriving.add(socket)
    try {
      if (URL.parse(request.url ?? '', 'http://hub')?.pathname !== CONNECT_PATH)
        throw new Refusal('malformed', 404, 'Invalid', 'no such endpoint')
      refuseWhenClosing()
      if (shares.isFull) throw full()
      shares.holdLink(socket)
      let connected: Connected
      {
        using permit = await admission.enter().catch(refuseWhenCrowded)
        if (socket.destroyed) return
        connected = await retryWhileUnavailable(
          () => authenticate(request, permit),
          () => isClosing || socket.destroyed,
        )
      }
      const isRegistered = request.headers['x-register-connection'] === 'true'
      if (connected.kind === 'person') takePersonLink(connected, request, socket)
      else await takeDeviceLink(connected, socket, isRegistered)
      // `close` closes the connections that exist when it is called. A connection accepted later would stay open.
      refuseWhenClosing()
      if (socket.destroyed) return
      if (connected.kind === 'device') {
        const { tokenId, deviceId } = connected.caller
        const { certificateId, unrecordedEnd: expiresAt } = connected
        if (expiresAt) recordEnd({ certificateId, expiresAt })
        tokenUses.add(tokenId, { deviceId, address: remoteOf(request) })
      }
      socket.off('error', ignore)
      socket.setNoDelay(true)
      webSockets.handleUpgrade(request, socket, head, webSocket =>
        onOpen(connected, webSocket, socket, request, isRegistered),
      )
    } catch (error) {
      refuse(request, socket, await counted(request, error))
    } finally {
      arriving.delete(socket)
    }
  }

  /**
   * Takes a slot for a registered link, or for an unregistered one, such as the link of a one-shot command. Throws `Refusal` when its device
   * or organization has reached the limit of such links.
   */
  async function takeDeviceLink(
    { caller }: Connected & { kind: 'device' },
    socket: Socket,
    isRegistered: boolean,
  ): Promise<void> {
    const { deviceId, tokenId, projectId, organizationId } = caller
    const owner = { deviceId, tokenId, projectId, organizationId }
    try {
      if (isRegistered) shares.takeRegisteredLink(owner, socket)
      else await shares.takeDeviceLink(owner, socket)
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error
      throw Refusal.of(error, { deviceId, tokenId, place: { organizationId, projectId } })
    }
  }

  /** Takes a slot for a link of a command line. Throws `Refusal` when its person or address has reached a limit of links. */
  function takePersonLink(
    { caller }: Connected & { kind: 'person' },
    request: IncomingMessage,
    socket: Socket,
  ): void {
    if (socket.destroyed) return
    try {
      shares.takePersonLink(caller, remoteOf(request), socket)
    } catch (error) {
      throw error instanceof LimitReached ? Refusal.of(error, {}) : error
    }
  }

  /** Creates the refusal for exhausted file descriptors. Logs a warning at most once a minute. */
  function full(): Refusal {
    if (performance.now() - fullLoggedAtMs >= FULL_LOG_INTERVAL_MS) {
      fullLoggedAtMs = performance.now()
      log.warn({ descriptors: shares.linkCapacity }, 'devices hold all file descriptors that they may')
    }
    return new Refusal('descriptors', 503, 'Internal', 'devices hold all file descriptors that they may')
  }

  function refuseWhenClosing(): void {
    if (isDraining) throw new Refusal('stopping', 503, 'Internal', GO_AWAY.shutdown)
  }

  /**
   * Counts a refused connection of a client IP. Accepted connections are not counted (docs/decisions.md, "Tokens and enrolment").
   * Resolves to the refusal, or to the error `RateLimited` for a client IP with more than 100 refusals a minute.
   */
  async function counted(request: IncomingMessage, error: unknown): Promise<unknown> {
    if (!(error instanceof Refusal) || error.kind === 'Internal') return error
    if (error.limit) limitReports.add(error.limit.limit, error.limit.subject, error.message)
    return limits.take('device refused', remoteOf(request)).then(
      () => error,
      (tooMany: unknown) => tooMany,
    )
  }

  function refuse(request: IncomingMessage, socket: Socket, error: unknown): void {
    if (error instanceof Refusal && isCheck(request)) {
      answer(socket, error)
      return
    }
    counts.refused(reasonOf(error))
    // Further refusals of a client IP above 100 a minute write no rows and no log lines. The first 100 already show the reason.
    if (error instanceof ActionError && error.kind === 'RateLimited' && !(error instanceof Refusal)) {
      heldAnswers.hold(socket, () => answer(socket, error))
      return
    }
    const refusal =
      error instanceof ActionError
        ? error
        : new ActionError('Internal', 'The hub could not check the connection.', {
            status: 503,
            cause: error,
          })
    const { tokenId, deviceId, place } = refusal instanceof Refusal ? refusal : {}
    const peer = { ...claimsOf(request), deviceId, remote: remoteOf(request) }
    if (error instanceof ActionError)
      log.info({ ...peer, status: refusal.status, reason: refusal.message }, 'connection refused')
    else log.error({ ...peer, err: error }, 'connection could not be checked')
    answer(socket, refusal)
    if (!tokenId) return
    refusals.add({ tokenId, deviceId, reason: refusal.message, address: peer.remote }).then(
      () => {
        if (!place) return
        live.changed({ topic: 'tokens', ...place })
        if (deviceId) live.changed({ topic: 'devices', ...place, deviceId })
      },
      failure => log.error({ err: failure, tokenId, deviceId }, 'refusal not recorded'),
    )
  }

  /** Responds to a refused upgrade with the status and JSON error body of the HTTP API (docs/protocol.md 1.6). */
  function answer(socket: Socket, refusal: ActionError): void {
    endWithResponse(socket, bareAnswer(headers, refusal))
  }

  function onOpen(
    connected: Connected,
    webSocket: WebSocket,
    socket: Socket,
    request: IncomingMessage,
    isRegistered: boolean,
  ): void {
    const transport = new WebSocketTransport(webSocket, socket, { isServer: true })
    const remote = remoteOf(request)
    if (connected.kind === 'person') {
      openToPerson(connected, transport, remote)
      return
    }
    const connection = new DeviceConnection(deviceServices, connected, remote)
    const link = new Link(transport, connection)
    transport.deliverTo(link)
    void connections.track(connection.begin(link, { isRegistered, instance: instanceOf(request) }))
  }

  function openToPerson(
    connected: Connected & { kind: 'person' },
    transport: WebSocketTransport,
    remote: string,
  ): void {
    const about = { ...idsOf(connected.caller), remote }
    const executorOptions = inputs.optionsFor({ userId: connected.caller.userId })
    const { userId, tokenId } = connected.caller
    const unwatch = rights.watchPerson(
      userId,
      () => sessions.isTokenValid(tokenId),
      () => link.close(TOKEN_ENDED),
      { key: tokenId },
    )
    const link = new Link(transport, {
      limits: COMMAND_LINE_LIMITS,
      maxPingIntervalMs: MAX_PING_INTERVAL_MS,
      onRequest: request => {
        if (request.endpoint === 'executor')
          serveExecutor(
            request.accept(),
            (name, input) =>
              execute(connected.caller, link, remote, name, input, callerNow(connected, link, remote)),
            executorOptions,
          )
        else void forwardTo(connected, link, request, remote)
      },
      onError: error => log.error({ ...about, err: error }, 'link failed'),
      onEnded: end => {
        people.delete(link)
        unwatch()
        logEnd(log, about, end)
      },
    })
    people.add(link)
    transport.deliverTo(link)
  }

  async function forwardTo(
    connected: Connected & { kind: 'person' },
    link: Link,
    request: ChannelRequest,
    remote: string,
  ): Promise<void> {
    try {
      const person = { callerNow: () => callerNow(connected, link, remote), address: remote }
      await openOverLink(forwardedPort, request, link, person, {
        parts,
        databaseShares,
        reach,
        rights,
        measures,
      })
    } catch (error) {
      log.error({ ...idsOf(connected.caller), endpoint: request.endpoint, err: error }, 'forward failed')
      request.reject('the hub could not open the connection')
    }
  }

  /**
   * Runs an action that arrived on an executor channel. `now` resolves to the caller with current rights. Without `now`, the caller keeps
   * the rights that the connection was authenticated with. The answer to a device that sends too fast is delayed.
   */
  async function execute(
    caller: Caller,
    link: Link,
    remote: string,
    name: string,
    input: Uint8Array,
    now?: Promise<Caller>,
  ): Promise<string> {
    const { length } = input
    const renewal = caller.actor === 'Device' ? current() : undefined
    if (renewal !== undefined) {
      const isCurrent = await renewal.then(
        () => true,
        () => false,
      )
      if (!isCurrent) return errorEnvelope('Internal', 'The database of the hub does not answer.')
      if (!link.isOpen) return errorEnvelope('Forbidden', 'The connection has ended.')
    }
    const answer = await run(caller, link, remote, name, input, now)
    const delayMs = caller.actor === 'Device' ? pace.charge(caller, length) : 0
    if (delayMs > 0) await sleep(delayMs, undefined, { ref: false })
    return answer
  }

  /** Runs an action of a device over the lane of telemetry. Returns false if `execute` must run it. */
  function executeOverLane(
    caller: DeviceCaller,
    link: Link,
    name: string,
    input: Uint8Array,
    answer: (text: string) => void,
  ): boolean {
    if (lane === undefined || current() !== undefined) return false
    const startedAtMs = measures ? performance.now() : 0
    return lane.run(caller, name, input, (output, error) => {
      const failure = error === undefined ? undefined : pipeline.failureOf(error, name, crypto.randomUUID())
      measures?.ran(name, performance.now() - startedAtMs, failure?.kind)
      const text = failure === undefined ? okEnvelopeOfJson(output) : refused(failure, caller, link, name)
      const delayMs = pace.charge(caller, input.length)
      if (delayMs > 0) setTimeout(answer, delayMs, text).unref()
      else answer(text)
    })
  }

  async function run(
    caller: Caller,
    link: Link,
    remote: string,
    name: string,
    input: Uint8Array,
    now?: Promise<Caller>,
  ): Promise<string> {
    const requestId = crypto.randomUUID()
    try {
      const currentCaller = now === undefined ? caller : await now
      const text = inputTextOf(input)
      if (caller.actor === 'Device' && link.peerAge !== 'Current' && namesAgent(name, text))
        link.peerKeepsUnreadData()
      const output = await pipeline.invoke(currentCaller, name, text, requestId, { address: remote })
      // A command has changed something, so its answer is never refused.
      if (isQuery(name)) answers.add(currentCaller, remote, output.length, link)
      return okEnvelopeOfJson(output)
    } catch (error) {
      return refused(error, caller, link, name)
    }
  }

  /** Answer of an action that has failed. */
  function refused(error: unknown, caller: Caller, link: Link, name: string): string {
    const failure =
      error instanceof ActionError ? error : new ActionError('Internal', 'Something went wrong on the hub.')
    if (error instanceof LimitReached && caller.actor === 'Device') pace.charge(caller, REFUSED_CALL_BYTES)
    if (!(error instanceof ActionError))
      log.error({ err: error, ...idsOf(caller), action: name }, 'executor failed')
    return errorEnvelope(failure.kind, failure.message, { knowsRateLimited: link.peerAge === 'Current' })
  }

  /**
   * Checks a person's token again for each action, as the HTTP API does. Devices need no check for each action, because the hub
   * closes a device's connection when its token or certificate loses its right.
   */
  async function callerNow(
    { userToken }: Connected & { kind: 'person' },
    link: Link,
    remote: string,
  ): Promise<PersonCaller> {
    const caller = await sessions.callerOf({ bearer: userToken, address: remote, countsBadTokens: false })
    if (caller.actor === 'UserToken') return caller
    link.close(TOKEN_ENDED)
    throw new ActionError('Forbidden', 'unknown token', { status: 401 })
  }

  return {
    counts,
    get waitingCount() {
      return admission.waitingCount
    },
    get personCount() {
      return people.size
    },
    upgrade: (request, socket, head) => void onUpgrade(request, socket, head),
    drain() {
      isDraining = true
    },
    async close() {
      isDraining = true
      isClosing = true
      for (const link of [...people, ...devices.sessions]) link.close(GO_AWAY.shutdown)
      await connections.settled(CLOSE_TIMEOUT_MS)
      await watched?.[Symbol.asyncDispose]()
      await tokenUses[Symbol.asyncDispose]()
      heldAnswers[Symbol.dispose]()
      summaries[Symbol.dispose]()
      for (const socket of arriving) socket.destroy()
    },
  }
}

function ignore(): void {}

/** Text of `X-Agent-Instance`, which a device chooses. Other texts are ignored. */
const INSTANCE = /^[\w-]{1,64}\.[\w-]{1,64}$/

/** Boot and process of the agent, as `X-Agent-Instance` reports them (docs/protocol.md 1.2). */
function instanceOf(request: IncomingMessage): string | undefined {
  const text = request.headers['x-agent-instance']
  return typeof text === 'string' && INSTANCE.test(text) ? text : undefined
}

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof Refusal) return error.reason
  return error instanceof ActionError && error.kind === 'RateLimited' ? 'address_rate' : 'internal'
}

function isQuery(name: string): boolean {
  return findAction(name)?.action.kind === 'query'
}

function idsOf(caller: Caller): object {
  if (caller.actor === 'Device') return { deviceId: caller.deviceId, projectId: caller.projectId }
  return caller.actor === 'UserToken' ? { userId: caller.userId, tokenId: caller.tokenId } : {}
}

/** Whether an upgrade is a check of `muster-hub doctor`. One with credentials is not, so that no header hides attempts with tokens. */
function isCheck({ headers }: IncomingMessage): boolean {
  return headers[CHECK_HEADER] !== undefined && headers.authorization === undefined
}

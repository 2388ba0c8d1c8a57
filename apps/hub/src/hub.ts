import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { ActionError, findAction } from '@muster/actions'
import { InFlight } from '@muster/concurrency'
import { GO_AWAY } from '@muster/link'
import type pg from 'pg'
import { jobs as allJobs, features, handlers, services as serviceMakers } from './features/index.ts'
import { EarlyUpgrades } from './link/gateway/early-upgrades.ts'
import { createGateway, refusePlainRequests } from './link/gateway/gateway.ts'
import { Presence } from './link/gateway/presence.ts'
import { drain } from './link/links/drain.ts'
import { releaseAfterHeartbeats } from './link/links/rebalance.ts'
import { DeviceRegistry } from './link/links/registry.ts'
import { linkMetrics } from './link/metrics.ts'
import { Reach } from './link/node-links/reach.ts'
import { ProxyHosts } from './link/proxy/hosts.ts'
import { createHttpProxy } from './link/proxy/http-proxy.ts'
import { largeCookiesAnswer } from './link/proxy/large-cookies.ts'
import { ProxyTokens } from './link/proxy/proxy-tokens.ts'
import { Ingest } from './link/telemetry/ingest.ts'
import { TelemetryLane } from './link/telemetry/lane.ts'
import { AND, carriersOf } from './platform/bus/carriers.ts'
import { EndedRights } from './platform/bus/ended-rights.ts'
import { openBus } from './platform/bus/open-bus.ts'
import { joinCluster } from './platform/cluster/node.ts'
import { startNodeReports } from './platform/cluster/node-facts.ts'
import { requireSharedCarrier } from './platform/cluster/shared-carrier.ts'
import { requireSharedFolder } from './platform/cluster/shared-folder.ts'
import { requireSharedKey } from './platform/cluster/shared-key.ts'
import type { Config } from './platform/config/config.ts'
import { ConfigError } from './platform/config/config-error.ts'
import { FirstPassword } from './platform/credentials/first-password.ts'
import { type InstanceKey, instanceKeyOf, loadInstanceKey } from './platform/credentials/instance-key.ts'
import { Jwts } from './platform/credentials/jwts.ts'
import { Passwords } from './platform/credentials/passwords.ts'
import { openDatabase } from './platform/database/client/connection.ts'
import { SlowStatements } from './platform/database/client/slow-statements.ts'
import { DiskSpace, type WatchedDisk } from './platform/database/server/disk-space.ts'
import { type DatabaseAccess, startEmbeddedDatabase } from './platform/database/server/embedded.ts'
import {
  checkDirectDatabase,
  checkExternalDatabase,
  externalConnection,
} from './platform/database/server/external.ts'
import { refuseMarked } from './platform/database/server/marks.ts'
import { MigrationError, migrate, requireUsableSchema } from './platform/database/server/migrate.ts'
import { OutageLog } from './platform/database/server/outage-log.ts'
import { type Health, Readiness } from './platform/database/server/readiness.ts'
import { createDeviceServer, createServer } from './platform/http/server.ts'
import { watchExpiry, watchTls } from './platform/http/tls.ts'
import type { JobContext } from './platform/jobs/define-job.ts'
import { type JobQueue, openQueue } from './platform/jobs/queue.ts'
import { AnswerBudgets } from './platform/limits/answer-budgets.ts'
import { DatabaseShares } from './platform/limits/database-shares.ts'
import { InputBudgets } from './platform/limits/input-budgets.ts'
import { LimitReports } from './platform/limits/limit-reports.ts'
import { PropertyTotals } from './platform/limits/property-totals.ts'
import { RateLimits } from './platform/limits/rate-limits.ts'
import { Shares } from './platform/limits/shares.ts'
import { StoredBytes } from './platform/limits/stored-bytes.ts'
import { WriteBudgets } from './platform/limits/write-budgets.ts'
import { LiveHub } from './platform/live/live-hub.ts'
import { MailWatch } from './platform/mail/mail-watch.ts'
import { createMailer } from './platform/mail/mailer.ts'
import { securityHeaders } from './platform/net/security-headers.ts'
import { platformMetrics } from './platform/operator/metrics.ts'
import type { Operator } from './platform/operator/operator.ts'
import { RefusalSummary } from './platform/operator/refusal-summary.ts'
import type { CommandParts } from './platform/pipeline/command-transaction.ts'
import type { Core } from './platform/pipeline/core.ts'
import { createPipeline, type Pipeline } from './platform/pipeline/invoke.ts'
import { makeServices, type Services } from './platform/pipeline/services.ts'
import { prepareDataDir, refuseUnfinished } from './platform/runtime/data-folder.ts'
import { lockDataDir } from './platform/runtime/data-lock.ts'
import type { Logger } from './platform/runtime/log.ts'
import type { Measures } from './platform/runtime/measures.ts'
import type { Tracer } from './platform/runtime/tracer.ts'
import { personUses, userTokenUses } from './platform/sessions/person-uses.ts'
import { Sessions } from './platform/sessions/sessions.ts'
import { BlobUrls } from './platform/storage/blob-urls.ts'
import { Blobs, type BlobsOptions } from './platform/storage/blobs.ts'
import { watchFiles } from './platform/storage/files-watch.ts'
import { GuardedHttpClient } from './platform/storage/guarded-http-client.ts'
import { blobFolder, LocalFolder } from './platform/storage/local-folder.ts'
import { ObjectStores } from './platform/storage/object-stores.ts'
import { SecretBox } from './platform/storage/secret-box.ts'
import { bootstrap, type FirstRun } from './startup/bootstrap.ts'

export type { JobData, JobName } from './platform/jobs/jobs.ts'

/** Maximum time, in milliseconds, that a stopping hub waits for actions in flight, and again the same time for running jobs. */
const DRAIN_TIMEOUT_MS = 5_000
/** Backlog of the listening socket. A whole fleet may reconnect at the same time, and a client repeats a dropped SYN only after 1 s. */
const BACKLOG = 4096

/** A running hub. Disposal stops it. */
export type Hub = AsyncDisposable &
  Core & {
    pool: pg.Pool
    /** Parts of the hub that action handlers use. */
    services: Services
    devices: DeviceRegistry
    jobs: JobQueue
    /** Bound address of the main listener. With `MUSTER_PORT=0` the operating system chooses the port. */
    address: { host: string; port: number }
    /** Port of the separate listener for devices; undefined without one. */
    devicePort: number | undefined
    /** Port of the listener for operators; undefined without one. */
    operatorPort: number | undefined
    publicUrl: string
    /** Account and deployment token made by the first start; undefined at later starts. */
    firstRun: FirstRun | undefined
    /** Rejects with `MigrationError` when a newer node has made the database unusable for this release. Otherwise stays pending. */
    outdated: Promise<never>
    /**
     * Connects to the configured object storage and mail server, to find wrong settings. Logs a warning with the setting's name on
     * failure; never throws.
     */
    tryServers(): Promise<void>
    /** Hands the devices over to other nodes before disposal, if other nodes are alive. Stops early when `signal` aborts. */
    drain(signal: AbortSignal): Promise<void>
  }

/**
 * Starts a hub. The body wires its parts from top to bottom; disposal runs in the reverse order. Throws `ConfigError` when a
 * setting cannot be used.
 */
export async function createHub(config: Config, plainLog: Logger): Promise<Hub> {
  await using stack = new AsyncDisposableStack()
  const outageLog = stack.use(new OutageLog(plainLog))
  const { log } = outageLog

  await prepareDataDir(config.dataDir)
  stack.use(await lockDataDir(config.dataDir))
  await refuseUnfinished(config.dataDir)

  let core: Core | undefined
  let isStopping = false
  let publicUrl = config.publicUrl
  const key = await loadInstanceKey(config.dataDir, config.instanceKey)
  const { previousInstanceKey: previous } = config
  const previousKey = previous === undefined ? undefined : instanceKeyOf(previous)
  const tracer = await openTracer(config, log, stack)
  const shares = stack.use(new Shares({ config, log }))
  const refusals = stack.use(new RefusalSummary(log))
  const server = await createServer({
    config,
    instanceKey: key,
    shares,
    log,
    tracer,
    core: () => core,
    publicUrl: () => publicUrl,
    routes: Object.assign({}, ...features.map(({ routes }) => routes)),
    answerLargeHead: largeCookiesAnswer,
  })
  stack.defer(() => server.close())
  refusePlainRequests(server)
  const early = stack.use(new EarlyUpgrades(securityHeaders(config)))
  early.attach(server.server)
  await listening('MUSTER_PORT', config.host, config.port, () =>
    server.listen({ host: config.host, port: config.port, backlog: BACKLOG }),
  )
  const { address: host, port } = server.server.address() as AddressInfo
  const deviceServer = await openDeviceServer({ config, instanceKey: key, shares }, early, stack)
  const health = async (): Promise<Health> =>
    (await core?.readiness.health()) ?? {
      state: isStopping ? 'draining' : 'starting',
      isReady: false,
      reasons: [],
    }
  const operator = await openOperator({ config, instanceKey: key, health, log }, stack)
  const metrics = operator?.metrics
  if (config.tls) {
    const others = [deviceServer, operator?.server].filter(one => one instanceof HttpsServer)
    const servers = [server.server as HttpsServer, ...others]
    stack.use(watchTls(config.tls, key, servers, log))
    for (const each of servers) refusals.watch(each)
  }
  if (config.port === 0) publicUrl = publicUrl.replace(/:0$/, `:${port}`)

  const { access, disk } = await databaseAccess(config, log, stack)
  const newestMigration = await migrate(access.owner, log)
  const { promise: outdated, reject: reportOutdated } = Promise.withResolvers<never>()
  // Only a process that waits for it ends.
  outdated.catch(() => {})
  const requireSchema = (mayWait: boolean): Promise<boolean> =>
    requireUsableSchema(access.owner, { mayWait }).catch(error => {
      if (error instanceof MigrationError) reportOutdated(error)
      throw error
    })
  const slowStatements = new SlowStatements(log)
  const { db, pool, heartbeat, jobQueue } = stack.use(
    openDatabase(access.hub, error => log.warn({ err: error }, 'a database connection broke'), {
      measures: metrics,
      tracer,
      onSlow: (text, durationMs) => slowStatements.add(text, durationMs),
    }),
  )
  const databaseShares = new DatabaseShares(db, config.limits, { lockMs: config.callerLockMs })
  const devices = new DeviceRegistry(right => rights.announce(right))
  const readiness = new Readiness(db)
  if (config.tls) stack.use(watchExpiry(config.tls, readiness, log))
  const diskSpace = stack.use(
    new DiskSpace({
      disk,
      lowBytes: config.diskLowBytes,
      reserveBytes: config.diskReserveBytes,
      readiness,
      log,
    }),
  )
  stack.use(
    watchFiles({
      folders: [config.dataDir, blobFolder(config.dataDir)],
      databaseFolder: disk?.folder,
      lowBytes: config.diskLowBytes,
      readiness,
      log,
    }),
  )
  let commands: CommandParts | undefined
  const release = releaseAfterHeartbeats({
    db: heartbeat,
    parts: () => commands,
    devices,
    isAutomatic: config.rebalance === 'auto',
    log,
  })
  const node = stack.use(
    await joinCluster({
      db: heartbeat,
      name: config.nodeName,
      log,
      isAlone: config.databaseUrl === undefined,
      readiness,
      onEvicted: () => devices.closeAll(GO_AWAY.evicted),
      requireUsableSchema: () => requireSchema(false),
      async onHeartbeat(stored) {
        outageLog.answered()
        await release(stored)
      },
      connections: () => devices.connectedCount,
      newestMigration,
      carriers: carriersOf(config).join(AND) || undefined,
      heartbeatMs: config.heartbeatMs,
    }),
  )
  // A newer node that migrated after `migrate` sees this node, or has done so by now. The same holds for the mark of a move.
  await requireSchema(true)
  await refuseMarked(pool)
  await requireSharedKey(db, key, previousKey, node.nodeId, log)
  if (config.databaseUrl !== undefined) await requireSharedFolder({ db, config, nodeId: node.nodeId, log })
  await requireSharedCarrier(db, carriersOf(config), node.nodeId)
  const bus = stack.use(await openBus({ config, key, node, log, readiness }))
  const rights = new EndedRights(bus)
  const reach = stack.use(new Reach({ config, db, devices, nodeId: node.nodeId, key, previousKey, log }))
  await listening('MUSTER_NODE_PORT', config.nodeHost, config.nodePort ?? 0, () => reach.listen())
  // With an embedded database this hub is the only node, so no bus is needed to notify consoles.
  const live = new LiveHub(config.databaseUrl === undefined ? undefined : bus)
  stack.defer(() => live.close())
  const jwts = new Jwts(key)
  const passwords = stack.use(new Passwords())
  const firstPassword = new FirstPassword(db, { host: config.host, publicUrl })
  const limits = new RateLimits({
    pool,
    isShared: () => node.hasOthers,
    onRefused: kind => refusals.limit(kind),
  })
  const uses = { tokens: stack.use(userTokenUses({ db, log })), people: stack.use(personUses({ db, log })) }
  const hosts = new ProxyHosts(config, publicUrl)
  const tokens = new ProxyTokens(db, jwts)
  const proxy = createHttpProxy({
    publicUrl,
    hosts,
    tokens,
    reach,
    rights,
    shares,
    measures: metrics,
    log,
    silenceSecs: config.proxySilenceSecs,
  })
  const blobUrls = new BlobUrls(key, publicUrl)
  const secretBox = new SecretBox(key, previousKey)
  const mailer = stack.use(
    new MailWatch(createMailer({ ...config, log }), { readiness, log, measures: metrics }),
  )
  const jobs = stack.use(await openQueue({ pool: jobQueue, log, drainTimeoutMs: DRAIN_TIMEOUT_MS }))
  commands = { db, live, jobs, log }
  const sessions = new Sessions(
    commands,
    databaseShares,
    limits,
    uses,
    rights,
    config.limits['person-sessions'],
  )
  const blobs = await openBlobs({
    config,
    box: secretBox,
    urls: blobUrls,
    shares,
    databaseShares,
    ...commands,
  })
  const limitReports = stack.use(new LimitReports({ ...commands, measures: metrics }))
  shares.reportTo(limitReports)
  const storedBytes = stack.use(new StoredBytes({ db, pool, limits: config.limits, log }))
  const writeBudgets = new WriteBudgets({
    limits: config.limits,
    lowDisk: () => diskSpace.lowReason(),
    reachedTotal: subject => storedBytes.reached(subject),
  })
  const propertyTotals = new PropertyTotals(db, config.limits)
  const parts = {
    ingest: new Ingest({
      pool,
      live,
      log,
      writeBudgets,
      propertyTotals,
      storedBytes,
      diskSpace,
      measures: metrics,
    }),
    devices,
    rights,
    shares,
    jobs,
    jwts,
    passwords,
    firstPassword,
    proxy: { hosts, tokens, publicUrl },
    blobs,
    secretBox,
    outbound: {
      webhooks: new GuardedHttpClient(config.webhooksAllow, { denied: config.outboundDeny, needsTls: true }),
      otlp: new GuardedHttpClient(config.otlpAllow, { denied: config.outboundDeny, needsTls: true }),
    },
    signup: config.signup,
    retention: { eventDays: config.eventRetentionDays, auditDays: config.auditRetentionDays },
    limits: config.limits,
    limitReports,
    writeBudgets,
    propertyTotals,
    storedBytes,
    diskSpace,
    dataDir: config.dataDir,
    nodeId: node.nodeId,
  }
  const ofFeatures = makeServices(serviceMakers, { ...parts, db, sessions, live, log })
  const services = { ...parts, ...ofFeatures }
  const watched = disk === undefined ? [] : [disk.folder]
  stack.use(
    await startNodeReports({
      db,
      nodeId: node.nodeId,
      log,
      folders: [config.dataDir, ...watched],
      blobFolder: blobFolder(config.dataDir),
      tls: config.tls,
      retiredSettings: config.retiredSettings,
      eventCount: () => services.ingest.eventCount,
      connections: () => devices.connectedCount,
      bus,
    }),
  )
  const pipeline = drained(
    summarized(
      measured(
        traced(createPipeline({ db, shares: databaseShares, handlers, services, live, limits, log }), tracer),
        metrics,
      ),
      refusals,
    ),
    stack,
  )
  // A trace has a span for each action, which the pipeline makes.
  const lane = tracer ? undefined : new TelemetryLane(services.ingest)
  stack.defer(() => lane?.settled(DRAIN_TIMEOUT_MS))
  const firstRun = await bootstrap(commands, config.dataDir, publicUrl)
  stack.use(await firstPassword.watch(log))
  const jobContext: JobContext = {
    ...config,
    ...commands,
    mailer,
    jwts,
    pool,
    key,
    previousKey,
    blobs,
    publicUrl,
    limitReports,
    storedBytes,
    retention: features.flatMap(({ retention = [] }) => retention),
    ...ofFeatures,
  }
  for (const { onStart } of features) {
    const started = await onStart?.(jobContext)
    if (started) stack.use(started)
  }

  const inputs = new InputBudgets(config.limits, limitReports)
  const answers = new AnswerBudgets(config.limits, limitReports)
  const presence = new Presence(pool, node.nodeId, bus)
  const gateway = createGateway({
    config: { ...config, publicUrl },
    ...commands,
    databaseShares,
    pool,
    pipeline,
    sessions,
    presence,
    devices,
    reach,
    bus,
    rights,
    nodeId: node.nodeId,
    limits,
    inputs,
    answers,
    limitReports,
    shares,
    proxy,
    measures: metrics,
    lane,
    current: () => node.current(),
  })
  early.open(gateway.upgrade)
  stack.defer(() => gateway.close())

  await jobs.work((name, data, job) => allJobs[name].run(jobContext, data, job))

  core = {
    db,
    pipeline,
    sessions,
    jwts,
    passwords,
    firstPassword,
    live,
    rights,
    limits,
    shares,
    databaseShares,
    inputs,
    answers,
    proxy,
    blobs,
    blobUrls,
    nodeId: node.nodeId,
    readiness,
  }
  metrics?.watch([
    platformMetrics({
      pool,
      readiness,
      shares,
      live,
      bus,
      mail: mailer,
      slowStatements,
      folders: {
        data: config.dataDir,
        blobs: blobFolder(config.dataDir),
        ...(disk && { database: disk.folder }),
      },
      tls: config.tls,
    }),
    linkMetrics({ devices, gateway, ingest: services.ingest }),
    ...features.flatMap(({ metrics: readerOf }) => (readerOf ? [readerOf(db, metrics.failed)] : [])),
  ])
  // Disposal runs this function first, so that new requests get 503 instead of reaching parts that are closed already.
  stack.defer(() => {
    core = undefined
    isStopping = true
    metrics?.unwatch()
  })
  const everything = stack.move()
  return {
    ...core,
    pool,
    devices,
    jobs,
    services,
    address: { host, port },
    devicePort: (deviceServer?.address() as AddressInfo | undefined)?.port,
    operatorPort: (operator?.server.address() as AddressInfo | undefined)?.port,
    publicUrl,
    firstRun,
    outdated,
    async tryServers() {
      const warn = (setting: string, msg: string) => (error: unknown) => {
        // While the hub stops, its disposal aborts the attempt. Such a failure is not logged.
        if (core !== undefined) log.warn({ setting, problem: (error as Error).message }, msg)
      }
      await Promise.all([
        blobs
          .checkInstanceStore()
          .catch(warn('MUSTER_S3_ENDPOINT', 'the object storage of the instance cannot be used')),
        mailer.check().catch(warn('MUSTER_SMTP_URL', 'the mail server cannot be used')),
      ])
    },
    drain: signal =>
      drain({
        node,
        devices,
        gateway,
        readiness,
        stopListening() {
          server.server.close()
          deviceServer?.close()
        },
        drainMs: config.drainSecs * 1000,
        signal,
        log,
      }),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

/** Waits until a server listens. Throws `ConfigError` that names the setting of the host or port that cannot be bound. */
async function listening(
  setting: string,
  host: string,
  port: number,
  listen: () => Promise<unknown>,
): Promise<void> {
  try {
    await listen()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new ConfigError(
        `${setting}: found ${host}:${port}, which another program uses, expected a free port.`,
      )
    if (code === 'EACCES')
      throw new ConfigError(`${setting}: found ${port} (${code}), expected a port that this account may use.`)
    throw new ConfigError(
      `${setting.replace(/(DEVICE_)?PORT$/, 'HOST')}: found ${host} (${code}), expected an address or a name of this machine.`,
    )
  }
}

/**
 * Opens the storage of repository files. Secrets that are encrypted with the previous instance key are encrypted again with the
 * current key.
 */
async function openBlobs({
  config,
  box,
  ...rest
}: { config: Config; box: SecretBox } & Pick<
  BlobsOptions,
  'urls' | 'shares' | 'databaseShares' | keyof CommandParts
>): Promise<Blobs> {
  const stores = new ObjectStores(
    box,
    new GuardedHttpClient(config.outboundAllow, { denied: config.outboundDeny }),
  )
  await stores.renewSecrets(rest.db, rest.log)
  const instanceStoreId = await stores.saveInstance(rest.db, config.s3)
  const folder = new LocalFolder(blobFolder(config.dataDir))
  return new Blobs({ ...rest, folder, stores, instanceStoreId })
}

/** Opens the separate listener for devices if `MUSTER_DEVICE_PORT` is set. */
async function openDeviceServer(
  options: Parameters<typeof createDeviceServer>[0],
  early: EarlyUpgrades,
  stack: AsyncDisposableStack,
): Promise<Server | undefined> {
  const { host, devicePort } = options.config
  if (devicePort === undefined) return undefined
  const server = createDeviceServer(options)
  early.attach(server)
  stack.defer(async () => {
    server.close()
    server.closeAllConnections()
  })
  await listening('MUSTER_DEVICE_PORT', host, devicePort, () =>
    once(server.listen(devicePort, host, BACKLOG), 'listening'),
  )
  return server
}

/** Opens the listener for operators if `MUSTER_OPERATOR_PORT` is set. Its modules are loaded only then. */
async function openOperator(
  options: { config: Config; instanceKey: InstanceKey; health: () => Promise<Health>; log: Logger },
  stack: AsyncDisposableStack,
): Promise<Operator | undefined> {
  const { operatorHost, operatorPort } = options.config
  if (operatorPort === undefined) return undefined
  const { createOperator } = await import('./platform/operator/operator.ts')
  const operator = stack.use(await createOperator(options))
  await listening('MUSTER_OPERATOR_PORT', operatorHost, operatorPort, () => operator.listen())
  return operator
}

/** Opens the tracer if `MUSTER_TRACES_URL` is set. OpenTelemetry is loaded only then. */
async function openTracer(
  { tracesUrl: url, tracesHeaders: headers, tracesPercent: percent, nodeName }: Config,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<Tracer | undefined> {
  if (url === undefined) return undefined
  const { createOtlpTracer } = await import('./platform/operator/otlp-tracer.ts')
  return stack.use(createOtlpTracer({ url, headers, percent, nodeName, log }))
}

/** Wraps the pipeline so that each action of a person or device has a span. */
function traced(pipeline: Pipeline, tracer: Tracer | undefined): Pipeline {
  if (!tracer) return pipeline
  return {
    ...pipeline,
    invoke: (caller, name, ...rest) =>
      tracer.action(name, caller.actor, () => pipeline.invoke(caller, name, ...rest)),
  }
}

/** Wraps the pipeline so that the actions of people and devices are measured. */
function measured(pipeline: Pipeline, measures: Measures | undefined): Pipeline {
  if (!measures) return pipeline
  return {
    ...pipeline,
    async invoke(...call) {
      const [, name] = call
      const startedAtMs = performance.now()
      try {
        const output = await pipeline.invoke(...call)
        measures.ran(name, performance.now() - startedAtMs, undefined)
        return output
      } catch (error) {
        const kind = error instanceof ActionError ? error.kind : 'Internal'
        measures.ran(name, performance.now() - startedAtMs, kind)
        throw error
      }
    },
  }
}

/** Wraps the pipeline so that refused queries, which leave no audit row, are counted. */
function summarized(pipeline: Pipeline, refusals: RefusalSummary): Pipeline {
  return {
    ...pipeline,
    async invoke(...call) {
      try {
        return await pipeline.invoke(...call)
      } catch (error) {
        const found = findAction(call[1])
        if (error instanceof ActionError && error.kind === 'Forbidden' && found?.action.kind === 'query')
          refusals.query(found.name)
        throw error
      }
    },
  }
}

/** Wraps the pipeline so that disposal waits up to `DRAIN_TIMEOUT_MS` for actions in flight before the database closes. */
function drained(pipeline: Pipeline, stack: AsyncDisposableStack): Pipeline {
  const actions = new InFlight()
  stack.defer(async () => {
    await actions.settled(DRAIN_TIMEOUT_MS)
    await pipeline.settled(DRAIN_TIMEOUT_MS)
  })
  return { ...pipeline, invoke: (...call) => actions.track(pipeline.invoke(...call)) }
}

async function databaseAccess(
  config: Config,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<{ access: DatabaseAccess; disk: WatchedDisk | undefined }> {
  if (config.databaseUrl === undefined) return stack.use(await startEmbeddedDatabase(config.dataDir, log))
  await checkExternalDatabase(config.databaseUrl)
  if (config.databaseDirectUrl !== undefined)
    await checkDirectDatabase(config.databaseUrl, config.databaseDirectUrl)
  const connection = externalConnection(config.databaseUrl)
  return { access: { owner: connection, hub: connection }, disk: undefined }
}

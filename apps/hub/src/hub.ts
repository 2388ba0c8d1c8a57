import { once } from 'node:events'
import { access, constants, mkdir, stat } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type pg from 'pg'
import { handlers } from './actions/index.ts'
import { bootstrap, type FirstRun } from './bootstrap.ts'
import { joinCluster } from './cluster/node.ts'
import { requireSharedKey } from './cluster/shared-key.ts'
import { type Config, ConfigError } from './config.ts'
import { lockDataDir } from './data-lock.ts'
import { type Db, openDatabase } from './database/connection.ts'
import { type DatabaseAccess, startEmbeddedDatabase } from './database/embedded.ts'
import { checkExternalDatabase, externalConnection } from './database/external.ts'
import { migrate } from './database/migrate.ts'
import { EarlyUpgrades } from './gateway/early-upgrades.ts'
import { createGateway, refusePlainRequests } from './gateway/gateway.ts'
import { Ingest } from './gateway/ingest.ts'
import { Presence } from './gateway/presence.ts'
import { DeviceRegistry } from './gateway/registry.ts'
import type { Services } from './handler.ts'
import { securityHeaders } from './http/security-headers.ts'
import { createDeviceServer, createServer } from './http/server.ts'
import { Sessions } from './http/sessions.ts'
import { watchTls } from './http/tls.ts'
import { InFlight } from './in-flight.ts'
import { type InstanceKey, instanceKeyOf, loadInstanceKey } from './instance-key.ts'
import { createPipeline, type Pipeline } from './invoke.ts'
import type { JobContext } from './jobs/handler.ts'
import { jobHandlers } from './jobs/handlers.ts'
import { maintainPartitions } from './jobs/MaintainPartitions.ts'
import { type JobQueue, openQueue } from './jobs/queue.ts'
import { Jwts } from './jwts.ts'
import { LiveHub } from './live/live-hub.ts'
import type { Logger } from './log.ts'
import { createMailer } from './mail/mailer.ts'
import { ProxyHosts } from './proxy/hosts.ts'
import { createHttpProxy, type HttpProxy } from './proxy/http-proxy.ts'
import { ProxyTokens } from './proxy/proxy-tokens.ts'
import { RateLimits } from './rate-limits.ts'
import { BlobUrls } from './storage/blob-urls.ts'
import { Blobs, type BlobsOptions } from './storage/blobs.ts'
import { LocalFolder } from './storage/local-folder.ts'
import { ObjectStores } from './storage/object-stores.ts'
import { Outbound } from './storage/outbound.ts'
import { SecretBox } from './storage/secret-box.ts'

export type { JobData, JobName } from './jobs/jobs.ts'

/** How long actions under way, and after them jobs, may take when the hub stops, in milliseconds. */
const DRAIN_TIMEOUT_MS = 5_000
/** Connections that the kernel keeps until they are taken: a fleet comes back all at once, and who is dropped tries a second later. */
const BACKLOG = 4096

/** What the doors lead to once the hub is ready. */
export type Core = {
  db: Db
  pipeline: Pipeline
  sessions: Sessions
  jwts: Jwts
  live: LiveHub
  limits: RateLimits
  /** Web pages of devices, under hosts of their own. */
  proxy: HttpProxy
  /** Bytes of repositories, and the hub's own signed addresses for them. */
  blobs: Blobs
  blobUrls: BlobUrls
  nodeId: string
  /** Why requests cannot be served now, or nothing. */
  readiness(): Promise<string | undefined>
}

export type Hub = AsyncDisposable &
  Core & {
    pool: pg.Pool
    /** What handlers use. */
    services: Services
    devices: DeviceRegistry
    jobs: JobQueue
    /** Where the listener really is, and what people are told. */
    address: { host: string; port: number }
    /** Port of the listener for devices alone, if there is one. */
    devicePort: number | undefined
    publicUrl: string
    /** What the first start made; nothing on later ones. */
    firstRun: FirstRun | undefined
  }

/** Starts a hub: this list is its wiring, top to bottom; disposal runs it backwards. Throws `ConfigError` for what a setting breaks. */
export async function createHub(config: Config, log: Logger): Promise<Hub> {
  await using stack = new AsyncDisposableStack()

  await prepareDataDir(config.dataDir)
  stack.use(await lockDataDir(config.dataDir))

  let core: Core | undefined
  let publicUrl = config.publicUrl
  const key = await loadInstanceKey(config.dataDir, config.instanceKey)
  const { previousInstanceKey: previous } = config
  const previousKey = previous === undefined ? undefined : instanceKeyOf(previous)
  const server = await createServer({
    config,
    instanceKey: key,
    log,
    core: () => core,
    publicUrl: () => publicUrl,
  })
  stack.defer(() => server.close())
  refusePlainRequests(server)
  const early = stack.use(new EarlyUpgrades(securityHeaders(config)))
  early.attach(server.server)
  await listening('MUSTER_PORT', config.host, config.port, () =>
    server.listen({ host: config.host, port: config.port, backlog: BACKLOG }),
  )
  const { address: host, port } = server.server.address() as AddressInfo
  const deviceServer = await openDeviceServer(config, key, early, stack)
  if (config.tls) {
    const servers = [server.server, ...(deviceServer ? [deviceServer] : [])] as HttpsServer[]
    stack.use(watchTls(config.tls, key, servers, log))
  }
  if (config.port === 0) publicUrl = publicUrl.replace(/:0$/, `:${port}`)

  const access = await databaseAccess(config, log, stack)
  await migrate(access.owner, log)
  const { db, pool } = stack.use(
    openDatabase(access.hub, error => log.warn({ err: error }, 'a database connection broke')),
  )
  // Without it the hub can go on: rows of a day that has no partition wait in the default one.
  await maintainPartitions(db, config.eventRetentionDays, { pauseMs: 200, tries: 20 }).catch(error =>
    log.error({ err: error }, 'no partitions were made'),
  )

  const devices = new DeviceRegistry()
  const node = stack.use(
    await joinCluster({
      db,
      name: config.nodeName,
      log,
      isAlone: config.databaseUrl === undefined,
      onBuried: () => devices.closeWhere({}, 'the hub node was out of reach for too long'),
    }),
  )
  await requireSharedKey(db, key, previousKey, node.nodeId, log)
  const live = new LiveHub()
  stack.defer(() => live.close())
  const jwts = new Jwts(key)
  const limits = new RateLimits()
  const sessions = new Sessions(db, limits)
  const hosts = new ProxyHosts(config, publicUrl)
  const tokens = new ProxyTokens(db, jwts)
  const proxy = createHttpProxy({ publicUrl, hosts, tokens, devices, log })
  const blobUrls = new BlobUrls(key, publicUrl)
  const blobs = await openBlobs({ config, key, previousKey, db, urls: blobUrls, live, log })
  const mailer = stack.use(createMailer({ ...config, log }))
  const jobs = stack.use(await openQueue({ pool, log, drainTimeoutMs: DRAIN_TIMEOUT_MS }))
  const services = {
    ingest: new Ingest(pool, live, log),
    devices,
    jobs,
    jwts,
    proxy: { hosts, tokens, publicUrl },
    blobs,
    signup: config.signup,
    dataDir: config.dataDir,
    nodeId: node.nodeId,
  }
  const pipeline = drained(createPipeline({ db, pool, handlers, services, live, limits, log }), stack)
  const firstRun = await bootstrap(db, config.dataDir, publicUrl)

  const presence = new Presence(pool, node.nodeId)
  const gateway = createGateway({
    config: { ...config, publicUrl },
    db,
    pool,
    pipeline,
    sessions,
    presence,
    devices,
    live,
    limits,
    proxy,
    log,
  })
  early.open(gateway.upgrade)
  stack.defer(() => gateway.close())

  const jobContext: JobContext = { ...config, db, mailer, jwts, key, blobs, log, publicUrl }
  await jobs.work((name, data, job) => jobHandlers[name](jobContext, data, job))

  core = {
    db,
    pipeline,
    sessions,
    jwts,
    live,
    limits,
    proxy,
    blobs,
    blobUrls,
    nodeId: node.nodeId,
    readiness: () => readiness(db),
  }
  // From here on requests get a definite answer instead of half a hub while it stops.
  stack.defer(() => {
    core = undefined
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
    publicUrl,
    firstRun,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir)
    await access(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new ConfigError(
      `MUSTER_DATA_DIR: found ${dataDir} (${(error as NodeJS.ErrnoException).code}), expected a folder that can be written.`,
    )
  }
}

/** Makes a folder and those above it. Node's own recursive form never ends where a file system denies that its root exists (/proc). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o755 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || path === dirname(path) || (await stat(dirname(path)).catch(() => undefined)))
      throw error
    await makeFolder(dirname(path))
    await mkdir(path, { mode: 0o755 })
  }
}

/** Waits for a listener; throws `ConfigError` when its host or the setting of its port cannot be had. */
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
      `MUSTER_HOST: found ${host} (${code}), expected an address or a name of this machine.`,
    )
  }
}

/** Where the bytes of repositories lie; what was encrypted with the instance key before is encrypted anew. */
async function openBlobs({
  config,
  key,
  previousKey,
  ...rest
}: { config: Config; key: InstanceKey; previousKey: InstanceKey | undefined } & Pick<
  BlobsOptions,
  'db' | 'urls' | 'live' | 'log'
>): Promise<Blobs> {
  const box = new SecretBox(key, previousKey)
  const stores = new ObjectStores(box, new Outbound(config.outboundAllow))
  await stores.renewSecrets(rest.db, rest.log)
  const instanceStoreId = await stores.saveInstance(rest.db, config.s3)
  const folder = new LocalFolder(join(config.dataDir, 'blobs'))
  return new Blobs({ ...rest, folder, stores, instanceStoreId })
}

/** The listener for devices alone, if there is to be one. */
async function openDeviceServer(
  config: Config,
  key: InstanceKey,
  early: EarlyUpgrades,
  stack: AsyncDisposableStack,
): Promise<Server | undefined> {
  const { host, devicePort } = config
  if (devicePort === undefined) return undefined
  const server = createDeviceServer(config, key)
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

/** The pipeline, whose actions under way are waited for when the hub stops, before the database goes. */
function drained(pipeline: Pipeline, stack: AsyncDisposableStack): Pipeline {
  const actions = new InFlight()
  stack.defer(() => actions.settled(DRAIN_TIMEOUT_MS))
  return { ...pipeline, invoke: (...call) => actions.track(pipeline.invoke(...call)) }
}

async function databaseAccess(
  config: Config,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<DatabaseAccess> {
  if (config.databaseUrl === undefined)
    return stack.use(await startEmbeddedDatabase(config.dataDir, log)).access
  await checkExternalDatabase(config.databaseUrl)
  const connection = externalConnection(config.databaseUrl)
  return { owner: connection, hub: connection }
}

async function readiness(db: Db): Promise<string | undefined> {
  const timeout = new Promise<string>(done =>
    setTimeout(() => done('the database does not answer'), 2_000).unref(),
  )
  const check = sql`select 1`.execute(db).then(
    () => undefined,
    () => 'the database cannot be reached',
  )
  return Promise.race([check, timeout])
}

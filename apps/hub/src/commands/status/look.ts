import { isIPv6 } from 'node:net'
import type { HandlerOutput } from '@muster/actions'
import type pg from 'pg'
import '../../features/index.ts'
import { readDevices, readHealth } from '../../features/instance/index.ts'
import { nearestFolder } from '../../platform/backup/free-space.ts'
import type { Config } from '../../platform/config/config.ts'
import { FirstPassword } from '../../platform/credentials/first-password.ts'
import { runBrief } from '../../platform/database/client/brief.ts'
import { openDatabase } from '../../platform/database/client/connection.ts'
import { databaseFolder } from '../../platform/database/server/embedded-home.ts'
import { runningAccess } from '../../platform/database/server/instance-access.ts'
import { areOnOneDisk, type DiskSpace, diskSpace } from '../../platform/runtime/disk-space.ts'
import { blobFolder } from '../../platform/storage/local-folder.ts'
import { CommandError } from '../command-line.ts'
import { get } from '../http-get.ts'
import { quietLog } from '../instance-database.ts'

/** Deadline of the request to the hub, in milliseconds. Its answer waits for the database for a few seconds at most. */
const HUB_MS = 5_000
/** Deadline for reading the database, in milliseconds: each of the nine parts of the health has 2 s. */
const DATABASE_MS = 20_000
/** Deadline of a connection to the database, in milliseconds. */
const CONNECT_MS = 5_000

/** State of the hub of these settings, as its own listener answers. `reason` is without a full stop. */
export type HubState = { state: 'Ready' } | { state: 'Degraded' | 'NotReady' | 'Stopped'; reason: string }

/** Facts of the instance that are in its database. */
export type Instance = {
  isEmbedded: boolean
  health: HandlerOutput<'instance_GetHealth'>
  devices: { total: number; connected: number }
}

/** Asks the hub at its own address, past any proxy, whether it serves. */
export async function askHub({ host, port, tls }: Config): Promise<HubState> {
  const everywhere = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const url = new URL(
    `${tls ? 'https' : 'http'}://${isIPv6(everywhere) ? `[${everywhere}]` : everywhere}:${port}/readyz`,
  )
  try {
    const { body } = await get(url, AbortSignal.timeout(HUB_MS))
    const answer = JSON.parse(body) as { status?: string; reason?: string } | null
    const reason = answer?.reason ?? 'it gives no reason'
    if (answer?.status === 'ready') return { state: 'Ready' }
    if (answer?.status === 'degraded') return { state: 'Degraded', reason }
    if (answer?.status === 'not ready') return { state: 'NotReady', reason }
    return { state: 'Stopped', reason: `another program answers at ${url.host}` }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    if (error instanceof SyntaxError)
      return { state: 'Stopped', reason: `another program answers at ${url.host}` }
    if (code === 'ECONNREFUSED')
      return {
        state: 'Stopped',
        reason: `nothing listens at ${url.host}; start the service, and look at its log`,
      }
    const problem =
      name === 'TimeoutError' || name === 'AbortError' ? `no answer within ${HUB_MS / 1000} s` : code
    return { state: 'Stopped', reason: `${url.host}: ${problem ?? (error as Error).message}` }
  }
}

/**
 * Reads the instance in its database, and starts no server. Throws `CommandError`, `ConfigError` or `EmbeddedDatabaseError` if it cannot be
 * read within its deadline.
 */
export async function readInstance(config: Config): Promise<Instance> {
  const access = await runningAccess(config, quietLog(config))
  if (access === undefined)
    throw new CommandError('The embedded database does not run; it starts with the hub.')
  const signal = AbortSignal.timeout(DATABASE_MS)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const onLate = (): void =>
    reject(new CommandError(`The database gave no answer within ${DATABASE_MS / 1000} s.`))
  signal.addEventListener('abort', onLate, { once: true })
  try {
    return await Promise.race([late, readFrom(access.hub, config, signal)])
  } finally {
    signal.removeEventListener('abort', onLate)
  }
}

async function readFrom(connection: pg.PoolConfig, config: Config, signal: AbortSignal): Promise<Instance> {
  await using database = openDatabase({ ...connection, connectionTimeoutMillis: CONNECT_MS }, () => {})
  // The first statement rejects with the reason if no connection is possible.
  const devices = await runBrief(database.db, signal, readDevices).catch((cause: Error) => {
    throw new CommandError(`The database cannot be read: ${cause.message.replace(/\.$/, '')}.`, { cause })
  })
  const isEmbedded = config.databaseUrl === undefined
  const firstPassword = new FirstPassword(database.db, config)
  const health = await readHealth(database.db, signal, { isDatabaseOnDisk: isEmbedded, firstPassword })
  return { isEmbedded, devices, health }
}

/** Disk with data of the hub: one folder on it, and its space, which is undefined if it does not answer. */
export type Disk = { folder: string; space: DiskSpace | undefined }

/** Finds the disks with data of the hub. */
export async function readDisks({ dataDir, databaseUrl }: Config): Promise<Disk[]> {
  const folders: string[] = []
  for (const folder of [
    dataDir,
    blobFolder(dataDir),
    ...(databaseUrl === undefined ? [await databaseFolder(dataDir)] : []),
  ]) {
    const present = await nearestFolder(folder)
    const shared = await Promise.all(folders.map(other => areOnOneDisk(present, other)))
    if (!shared.includes(true)) folders.push(present)
  }
  return Promise.all(
    folders.map(async folder => ({ folder, space: await diskSpace(folder).catch(() => undefined) })),
  )
}

import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import pg from 'pg'
import { ConfigError } from '../../config/config-error.ts'

/** Setting or option that names a database, for messages. */
export type DatabaseSetting = 'MUSTER_DATABASE_URL' | 'MUSTER_DATABASE_DIRECT_URL' | '--to'

/** Oldest major version of PostgreSQL that the hub uses. */
const OLDEST_VERSION = 15

/** Timeout for connecting to the server at the start, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000

/**
 * Connection settings for an external database, which the operator runs. The `options` parameter of the URL is passed separately, because
 * pg lets an `options` parameter in the URL override the `options` of the connection settings.
 */
export function externalConnection(
  databaseUrl: string,
  setting: DatabaseSetting = 'MUSTER_DATABASE_URL',
): pg.PoolConfig {
  const url = new URL(databaseUrl)
  const { searchParams } = url
  requireTlsParameters(searchParams, setting)
  // pg treats `prefer`, `require` and `verify-ca` as `verify-full`, but warns that a later version may not. Setting
  // `verify-full` avoids the warning.
  if (['prefer', 'require', 'verify-ca'].includes(searchParams.get('sslmode') ?? ''))
    if (!searchParams.has('uselibpqcompat')) searchParams.set('sslmode', 'verify-full')
  const options = searchParams.get('options')
  searchParams.delete('options')
  return { connectionString: url.href, ...(options !== null && { options }) }
}

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Throws `ConfigError` for an unknown `sslmode` and for a TLS file that cannot be used. */
function requireTlsParameters(parameters: URLSearchParams, setting: DatabaseSetting): void {
  const mode = parameters.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode))
    throw new ConfigError(
      `${setting}: found sslmode=${JSON.stringify(mode)}, expected one of ${SSL_MODES.join(', ')}.`,
    )
  const files: SecureContextOptions = {}
  for (const [name, option] of [
    ['sslrootcert', 'ca'],
    ['sslcert', 'cert'],
    ['sslkey', 'key'],
  ] as const) {
    const path = parameters.get(name)
    if (path === null) continue
    try {
      files[option] = readFileSync(path)
      createSecureContext(files)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw new ConfigError(
        `${setting}: found ${name}=${JSON.stringify(path)} (${code ?? message}), expected a file in PEM that this account may read.`,
      )
    }
  }
}

/** Checks that the hub can use an external database. Throws `ConfigError` with the reason if it cannot. */
export async function checkExternalDatabase(
  databaseUrl: string,
  setting: DatabaseSetting = 'MUSTER_DATABASE_URL',
): Promise<void> {
  const connection = externalConnection(databaseUrl, setting)
  const [client, other] = [clientOf(connection), clientOf(connection)]
  try {
    await client.connect()
    await other.connect()
    if (await shareSession(client, other))
      throw new ConfigError(
        `${setting}: found a connection pooler that shares sessions between clients (transaction pooling), expected PostgreSQL itself or a pooler with session pooling (PgBouncer: pool_mode = session).`,
      )
    const { rows } = await client.query<{
      mayCreate: boolean
      isOwner: boolean
      encoding: string
      version: number
    }>(
      // The job queue needs a schema of its own, `pgboss`.
      `select coalesce(has_schema_privilege(current_schema(), 'create'), false)
              and (to_regnamespace('pgboss') is not null
                   or has_database_privilege(current_database(), 'create')) as "mayCreate",
              coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('migration')),
                       true) as "isOwner",
              current_setting('server_encoding') as encoding,
              current_setting('server_version_num')::int / 10000 as version`,
    )
    const { rows: off } = await client.query<{ name: string }>(
      // The server of the test kit sets `muster.is_disposable`: no test needs its data after a power failure, so `fsync` and
      // `full_page_writes` may be off there.
      `select name from pg_settings where setting = 'off'
          and (name = 'synchronous_commit'
               or name in ('fsync', 'full_page_writes')
                  and current_setting('muster.is_disposable', true) is distinct from 'on')`,
    )
    // With `fsync`, `full_page_writes` or `synchronous_commit` off, a power failure can lose acknowledged data.
    if (off.length > 0)
      throw new ConfigError(
        `${setting}: found a database that may lose what it has confirmed (${off.map(({ name }) => name).join(', ')} off), expected one that writes through to its disk.`,
      )
    const { mayCreate, isOwner, encoding, version } = rows[0]!
    if (version < OLDEST_VERSION)
      throw new ConfigError(`${setting}: found PostgreSQL ${version}, expected ${OLDEST_VERSION} or newer.`)
    if (encoding !== 'UTF8')
      throw new ConfigError(
        `${setting}: found a database with the encoding ${encoding}, expected one with UTF8.`,
      )
    // The tables belong to another user, for example because that user restored a backup.
    if (!isOwner)
      throw new ConfigError(
        `${setting}: found a database whose tables are another user's, expected the user that owns them.`,
      )
    if (!mayCreate) throw new Error('permission denied to create tables in its schema, or schemas')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const reason = error instanceof Error ? error.message || error.name : String(error)
    throw new ConfigError(
      `${setting}: found a database that does not let the hub in (${reason}), expected a reachable PostgreSQL where it may create tables and schemas.`,
    )
  } finally {
    await Promise.all([client, other].map(one => one.end().catch(() => {})))
  }
}

/**
 * Checks that `MUSTER_DATABASE_DIRECT_URL` leads to the database of `MUSTER_DATABASE_URL`, without a pooler that shares sessions, which
 * would lose notifications. Throws `ConfigError` with the reason if it does not.
 */
export async function checkDirectDatabase(databaseUrl: string, directUrl: string): Promise<void> {
  const setting = 'MUSTER_DATABASE_DIRECT_URL'
  const direct = externalConnection(directUrl, setting)
  const [client, other, pooled] = [
    clientOf(direct),
    clientOf(direct),
    clientOf(externalConnection(databaseUrl)),
  ]
  try {
    await Promise.all([client, other, pooled].map(one => one.connect()))
    if (await shareSession(client, other))
      throw new ConfigError(
        `${setting}: found a connection pooler that shares sessions between clients (transaction pooling), expected PostgreSQL itself.`,
      )
    if ((await identityOf(client)) !== (await identityOf(pooled)))
      throw new ConfigError(
        `${setting}: found another database than that of MUSTER_DATABASE_URL, expected the same one without a pooler.`,
      )
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(
      `${setting}: found a database that does not let the hub in (${(error as Error).message}), expected the database of MUSTER_DATABASE_URL.`,
    )
  } finally {
    await Promise.all([client, other, pooled].map(one => one.end().catch(() => {})))
  }
}

/** Text that identifies a database and its server. Two connections lead to the same database if their texts are equal. */
async function identityOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ identity: string }>(
    "select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), current_database()) as identity",
  )
  return rows[0]!.identity
}

function clientOf(connection: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  return client
}

/**
 * Whether a pooler shares one session of the server between two clients. The hub's locks, prepared statements and settings must
 * last as long as its connection; with a shared session they would be lost or leak to other clients. Compares the session of
 * the first client before and during a transaction of the second client. Sessions are shared if the first client's session
 * changes, or if it is the second client's session as well.
 */
async function shareSession(client: pg.Client, other: pg.Client): Promise<boolean> {
  const before = await sessionOf(client)
  await other.query('begin')
  const others = await sessionOf(other)
  const after = await sessionOf(client)
  await other.query('rollback')
  return before === others || before !== after
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

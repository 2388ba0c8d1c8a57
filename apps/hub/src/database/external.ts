import pg from 'pg'
import { ConfigError } from '../config.ts'

/** How long a server may take to answer at the start, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000

/**
 * How to reach a database of the operator's. `options` in its address would replace those that the hub has itself, so they stand
 * beside them.
 */
export function externalConnection(databaseUrl: string): pg.PoolConfig {
  const url = new URL(databaseUrl)
  const options = url.searchParams.get('options')
  if (options === null) return { connectionString: databaseUrl }
  url.searchParams.delete('options')
  return { connectionString: url.href, options }
}

/** Looks whether the hub can live in a database of its operator's. Throws `ConfigError` with what is in the way. */
export async function checkExternalDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ mayCreate: boolean; isOwner: boolean; encoding: string }>(
      // The job queue has a schema of its own.
      `select coalesce(has_schema_privilege(current_schema(), 'create'), false)
              and (to_regnamespace('pgboss') is not null
                   or has_database_privilege(current_database(), 'create')) as "mayCreate",
              coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('migration')),
                       true) as "isOwner",
              current_setting('server_encoding') as encoding`,
    )
    const { rows: off } = await client.query<{ name: string }>(
      `select name from pg_settings where setting = 'off'
          and name in ('fsync', 'full_page_writes', 'synchronous_commit')`,
    )
    // What is acknowledged to a device must survive a power failure.
    if (off.length > 0)
      throw new ConfigError(
        `MUSTER_DATABASE_URL: found a database that may lose what it has confirmed (${off.map(({ name }) => name).join(', ')} off), expected one that writes through to its disk.`,
      )
    const { mayCreate, isOwner, encoding } = rows[0]!
    if (encoding !== 'UTF8')
      throw new ConfigError(
        `MUSTER_DATABASE_URL: found a database with the encoding ${encoding}, expected one with UTF8.`,
      )
    // As when somebody else has restored them.
    if (!isOwner)
      throw new ConfigError(
        "MUSTER_DATABASE_URL: found a database whose tables are another user's, expected the user that owns them.",
      )
    if (!mayCreate) throw new Error('permission denied to create tables in its schema, or schemas')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const reason = error instanceof Error ? error.message || error.name : String(error)
    throw new ConfigError(
      `MUSTER_DATABASE_URL: found a database that does not let the hub in (${reason}), expected a reachable PostgreSQL where it may create tables and schemas.`,
    )
  } finally {
    await client.end().catch(() => {})
  }
}

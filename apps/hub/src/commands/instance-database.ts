import type { Config } from '../config.ts'
import { type Database, openDatabase } from '../database/client/connection.ts'
import { type DatabaseAccess, openEmbeddedDatabase } from '../database/server/embedded.ts'
import { checkExternalDatabase, externalConnection } from '../database/server/external.ts'
import { MigrationError, plannedMigrations } from '../database/server/migrate.ts'
import { createLog, type Logger } from '../runtime/log.ts'

/** Log of a command, without the lines of an ordinary start, such as those of the embedded database server. */
export function quietLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return createLog(logLevel === 'info' ? 'warn' : logLevel)
}

/**
 * Finds the database of the instance, whether or not its hub runs. The embedded server is started until disposal if it does not run.
 * Throws `ConfigError` and `EmbeddedDatabaseError`.
 */
export async function instanceAccess(config: Config): Promise<AsyncDisposable & { access: DatabaseAccess }> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === undefined) return openEmbeddedDatabase(dataDir, quietLog(config))
  await checkExternalDatabase(databaseUrl)
  const connection = externalConnection(databaseUrl)
  return { access: { owner: connection, hub: connection }, [Symbol.asyncDispose]: async () => {} }
}

/** Opens the database of the instance like `instanceAccess`. Throws `MigrationError` if it lacks migrations of this release. */
export async function openInstance(config: Config): Promise<Database> {
  await using stack = new AsyncDisposableStack()
  const { access } = stack.use(await instanceAccess(config))
  // The error handler does nothing, because a broken connection also fails the statement that runs on it.
  const { db, pool } = stack.use(openDatabase(access.hub, () => {}))
  const client = await pool.connect()
  try {
    const { migrations } = await plannedMigrations(client, quietLog(config))
    if (migrations.some(({ waitsFor }) => waitsFor.length === 0))
      throw new MigrationError(
        'The database is one of an older hub: start this one once, or run muster-hub migrate.',
      )
  } finally {
    client.release()
  }
  const opened = stack.move()
  return { db, pool, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

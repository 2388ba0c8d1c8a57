import type { Config } from '../../config/config.ts'
import type { Logger } from '../../runtime/log.ts'
import { type DatabaseAccess, openEmbeddedDatabase, runningEmbeddedDatabase } from './embedded.ts'
import { checkExternalDatabase, externalConnection } from './external.ts'

/**
 * Finds the database of the configured instance, whether or not its hub runs. The embedded server is started until disposal if it does not
 * run; `isOfHub` is true if it is that of a running hub. Throws `ConfigError` and `EmbeddedDatabaseError`.
 */
export async function instanceAccess(
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  log: Logger,
): Promise<AsyncDisposable & { access: DatabaseAccess; isOfHub: boolean }> {
  if (databaseUrl === undefined) return openEmbeddedDatabase(dataDir, log)
  await checkExternalDatabase(databaseUrl)
  const connection = externalConnection(databaseUrl)
  return {
    access: { owner: connection, hub: connection },
    isOfHub: false,
    [Symbol.asyncDispose]: async () => {},
  }
}

/**
 * Finds the database of the configured instance without starting it; undefined if it is the embedded one and does not run. Throws
 * `ConfigError` and `EmbeddedDatabaseError`.
 */
export async function runningAccess(
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  log: Logger,
): Promise<DatabaseAccess | undefined> {
  if (databaseUrl === undefined) return runningEmbeddedDatabase(dataDir, log)
  const connection = externalConnection(databaseUrl)
  return { owner: connection, hub: connection }
}

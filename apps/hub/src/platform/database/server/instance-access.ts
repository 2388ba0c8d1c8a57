import type { Config } from '../../config/config.ts'
import type { Logger } from '../../runtime/log.ts'
import { type DatabaseAccess, openEmbeddedDatabase } from './embedded.ts'
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

import type { Config } from '../platform/config/config.ts'
import { type Database, openDatabase } from '../platform/database/client/connection.ts'
import { instanceAccess } from '../platform/database/server/instance-access.ts'
import { MigrationError, plannedMigrations } from '../platform/database/server/migrate.ts'
import type { CommandParts } from '../platform/pipeline/command-transaction.ts'
import { createLog, type Logger } from '../platform/runtime/log.ts'

/** Log of a command, without the lines of an ordinary start, such as those of the embedded database server. */
export function quietLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return createLog(logLevel === 'info' ? 'warn' : logLevel)
}

/** Receiver of notices about changes in a command, to which no console is connected. Consoles poll the logs of the instance. */
export const NO_CONSOLES: CommandParts['live'] = { changed: () => {} }

/** Opens the database of the instance (`instanceAccess`). Throws `MigrationError` if it lacks migrations of this release. */
export async function openInstance(config: Config): Promise<Database> {
  await using stack = new AsyncDisposableStack()
  const { access } = stack.use(await instanceAccess(config, quietLog(config)))
  // The error handler does nothing, because a broken connection also fails the statement that runs on it.
  const database = stack.use(openDatabase(access.hub, () => {}))
  const client = await database.pool.connect()
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
  return { ...database, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

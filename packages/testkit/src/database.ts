import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { migrate } from '@muster/hub/database/migrate'
import { createLog } from '@muster/hub/log'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the test run's PostgreSQL; the database `muster` in it is the migrated template. */
    database: { host: string; user: string; password: string }
  }
}

/** Files run side by side, each with up to three hubs at once and sessions of its own. */
const MAX_CONNECTIONS = 200

/** Global set-up of the test run: one real PostgreSQL with a migrated template that each test hub's database is cloned from. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-test-'))
  // As root the server runs under another account, which has to get in; else its files would be elsewhere and stay there.
  await chmod(folder, 0o755)
  const log = createLog('error')
  const database = await startEmbeddedDatabase(folder, log, { maxConnections: MAX_CONNECTIONS })
  await migrate(database.access.owner, log)
  const client = new pg.Client(database.access.owner)
  await client.connect()
  await client.query('select maintain_partitions(90)')
  await client.end()
  const { host, user, password } = database.access.admin as { host: string; user: string; password: string }
  project.provide('database', { host, user, password })
  return async () => {
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
}

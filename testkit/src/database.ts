import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { migrate } from '@muster/hub/database/migrate'
// Declares the jobs, for which the migrations make queues.
import '@muster/hub/features'
import { createLog } from '@muster/hub/log'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Access to the PostgreSQL server of the test run. Its database `muster` is the migrated template. */
    database: { host: string; user: string; password: string; owner: string }
  }
}

/**
 * Maximum number of connections to the test server. Test files run in parallel, each with up to three hubs and its own sessions.
 */
const MAX_CONNECTIONS = 200

/**
 * Global set-up of a test run. Starts a real PostgreSQL server with a migrated template database, from which the database of each
 * test hub is cloned.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-test-'))
  // When this runs as root, PostgreSQL runs under another account, which must be able to enter the folder. Otherwise PostgreSQL
  // would use another folder, which would not be removed.
  await chmod(folder, 0o755)
  const log = createLog('error')
  const database = await startEmbeddedDatabase(folder, log, {
    maxConnections: MAX_CONNECTIONS,
    isDisposable: true,
  })
  await migrate(database.access.owner, log)
  const client = new pg.Client(database.access.owner)
  await client.connect()
  await client.query('select maintain_partitions(90)')
  await client.end()
  const { host, user, password } = database.access.admin as { host: string; user: string; password: string }
  const owner = database.access.owner.user as string
  const admin = new pg.Client(database.access.admin)
  await admin.connect()
  // Each test hub opens about ten connections. By default, a client hashes the password 4,096 times for each.
  await admin.query('set scram_iterations = 1')
  await admin.query(`alter role ${user} password '${password}'`)
  await admin.end()
  project.provide('database', { host, user, password, owner })
  return async () => {
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
}

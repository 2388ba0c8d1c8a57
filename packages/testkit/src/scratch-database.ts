import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** A database that no hub works on. */
export type ScratchDatabase = AsyncDisposable & {
  connection: pg.PoolConfig
  /** The same for `MUSTER_DATABASE_URL`. */
  url: string
  query: (text: string) => Promise<unknown[]>
}

/** Makes a database that ends with its scope: empty, or migrated with the template `muster`. */
export async function scratchDatabase(
  template: 'template0' | 'muster' = 'template0',
): Promise<ScratchDatabase> {
  const database = `test_${randomUUID().replaceAll('-', '')}`
  const admin = new pg.Client({ ...inject('database'), database: 'postgres' })
  await admin.connect()
  await admin.query(`create database ${database} template ${template}`)
  const server = inject('database')
  const connection = { ...server, database }
  const [user, password, host] = [server.user, server.password, server.host].map(encodeURIComponent)
  const client = new pg.Client(connection)
  await client.connect()
  return {
    connection,
    url: `postgresql://${user}:${password}@${host}/${database}`,
    query: async text => (await client.query(text)).rows,
    async [Symbol.asyncDispose]() {
      await client.end()
      await admin.query(`drop database ${database} with (force)`)
      await admin.end()
    },
  }
}

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scratchDatabase, testHub } from '@muster/testkit'
import pg from 'pg'
import { expect, it } from 'vitest'
import { createTables } from '../database/server/migrate.ts'
import { installQueue } from '../jobs/install.ts'
import { createLog } from '../runtime/log.ts'
import { done, FIXTURE_KEY } from './testing/fixture-database.ts'

const DATABASE = join(import.meta.dirname, '../database')
/** Last migration of the older schema: it has no bulk actions and no sizes of values. */
const LAST = '0013'

it('restores a backup of an older release into its schema, which the next start migrates', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-older-'))
  await using source = await scratchDatabase()
  await using target = await scratchDatabase()
  const names = readdirSync(join(DATABASE, 'migrations')).filter(name => name.slice(0, 4) <= LAST)
  const client = new pg.Client(source.connection)
  await client.connect()
  await createTables(client, names)
  await installQueue(client, createLog('silent'))
  for (const name of names) {
    await client.query(readFileSync(join(DATABASE, 'fixtures', name), 'utf8'))
    const checksum = createHash('sha256')
      .update(readFileSync(join(DATABASE, 'migrations', name)))
      .digest('hex')
    await client.query('insert into migration (name, checksum) values ($1, $2)', [name, checksum])
  }
  // As a later version of pg-boss, or an earlier one, has columns that this one lacks.
  await client.query('alter table pgboss.job add column of_another_version text')
  await client.end()

  const backup = join(folder, 'backup')
  const settings = { MUSTER_DATA_DIR: join(folder, 'data'), MUSTER_INSTANCE_KEY: FIXTURE_KEY }
  await done(['backup', backup, '--no-verify'], { ...settings, MUSTER_DATABASE_URL: source.url })
  await done(['restore', backup], { ...settings, MUSTER_DATABASE_URL: target.url })
  expect(await target.query('select max(name) as last from migration')).toEqual([{ last: names.at(-1) }])
  await using hub = await testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })
  expect(await hub.db.selectFrom('migration').select('name').execute()).toHaveLength(
    readdirSync(join(DATABASE, 'migrations')).length,
  )
  await rm(folder, { recursive: true })
})

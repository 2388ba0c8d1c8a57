import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { SYSTEM } from '../caller.ts'

const FIXTURES = join(import.meta.dirname, 'fixtures')

it('has a fixture for every migration, so that the next one can be tried on data', () => {
  const migrations = readdirSync(join(import.meta.dirname, 'migrations'))
  expect(readdirSync(FIXTURES)).toEqual(migrations.filter(name => name.endsWith('.sql')))
})

it('reads an instance as the first migration left it', async () => {
  await using hub = await testHub()
  await hub.pool.query(readFileSync(join(FIXTURES, '0001_init.sql'), 'utf8'))

  const { rows: tables } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`.execute(hub.db)
  for (const { name } of tables) {
    const { rows } = await sql<{ count: number }>`select count(*) from ${sql.table(name)}`.execute(hub.db)
    expect(rows[0]!.count, `rows of ${name}`).toBeGreaterThan(0)
  }

  const device = await hub.db
    .selectFrom('device')
    .where('name', '=', 'crane-01')
    .selectAll()
    .executeTakeFirstOrThrow()
  const { devices } = await hub.pipeline.run(SYSTEM, 'projects_QueryDevices', {
    projectId: device.project_id,
  })
  expect(devices).toMatchObject([{ name: 'crane-01', status: 'offline' }, { pendingCertificatesCount: 1 }])
  const { properties } = await hub.pipeline.run(SYSTEM, 'devices_QueryProperties', {
    deviceId: device.device_id,
  })
  expect(properties).toMatchObject({
    'site.name': { value: 'Pier 4', protected: true },
    odd: { value: '\0' },
  })
  const { events } = await hub.pipeline.run(SYSTEM, 'devices_QueryEvents', { deviceId: device.device_id })
  expect(events).toMatchObject([{ severity: 'Critical' }, { body: 'checking for updates' }])
})

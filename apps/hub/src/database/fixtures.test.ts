import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratchDatabase, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { expect, it } from 'vitest'
import { SealKeys } from '../audit/chain.ts'
import { verifyAuditLog } from '../audit/verify.ts'
import { SYSTEM } from '../caller.ts'
import { loadInstanceKey } from '../credentials/instance-key.ts'

const FIXTURE_KEY = 'f1'.repeat(32)
const FIXTURES = join(import.meta.dirname, 'fixtures')

it('has a fixture for every migration, so that the next one can be tried on data', () => {
  const migrations = readdirSync(join(import.meta.dirname, 'migrations'))
  expect(readdirSync(FIXTURES)).toEqual(migrations.filter(name => name.endsWith('.sql')))
})

it('reads an instance made from the fixtures and verifies its audit log', async () => {
  await using database = await scratchDatabase('muster')
  for (const name of readdirSync(FIXTURES).toSorted())
    await database.query(readFileSync(join(FIXTURES, name), 'utf8'))
  const client = new pg.Client(database.connection)
  await client.connect()
  const keys = new SealKeys(await loadInstanceKey('', FIXTURE_KEY))
  expect(await verifyAuditLog(client, keys)).toMatchObject({ isIntact: true, seals: 3, removedSeals: 1 })
  await client.end()

  await using hub = await testHub({ databaseUrl: database.url, instanceKey: FIXTURE_KEY })
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
  expect(await hub.runJob('devices_FillUpdates', {})).toMatchObject({ status: 'Completed' })
  const { devices } = await hub.pipeline.run(SYSTEM, 'projects_QueryDevices', {
    projectId: device.project_id,
  })
  expect(devices).toMatchObject([
    { name: 'crane-01', status: 'offline', updateError: 'disk # is full' },
    { pendingCertificatesCount: 1 },
    { name: 'crane-03', updateFailureCount: 2, updateError: 'disk # is full' },
  ])
  expect(await hub.runJob('devices_FillAddresses', {})).toMatchObject({ status: 'Completed' })
  const { organizationId } = await hub.pipeline.run(SYSTEM, 'projects_GetDetails', {
    projectId: device.project_id,
  })
  const search = { organizationId, text: '172.17.0.2' }
  expect(await hub.pipeline.run(SYSTEM, 'organizations_Search', search)).toMatchObject({
    devices: [{ name: 'crane-01' }, { name: 'crane-03' }],
  })
  const project = await hub.pipeline.run(SYSTEM, 'projects_GetDetails', { projectId: device.project_id })
  expect(project).toMatchObject({ deviceCount: 3 })
  const { properties } = await hub.pipeline.run(SYSTEM, 'devices_QueryProperties', {
    deviceId: device.device_id,
  })
  expect(properties).toMatchObject({
    'site.name': { value: 'Pier 4', protected: true },
    odd: { value: '\0' },
  })
  const { events } = await hub.pipeline.run(SYSTEM, 'devices_QueryEvents', { deviceId: device.device_id })
  expect(events).toMatchObject([{ severity: 'Critical' }, { body: 'checking for updates' }])

  const path = { repository: 'firmware', package: 'system', tag: 'stable' }
  const found = await hub.pipeline.run(SYSTEM, 'repositories_ResolveVersionByPath', path)
  if (found.result !== 'Found') throw new Error('the version of the fixture is not found')
  const version = await hub.pipeline.run(SYSTEM, 'repositories_GetVersionDetails', found)
  expect(version).toMatchObject({
    tags: [{ tag: 'stable', locked: true }],
    assets: [{ filename: 'system.rugixb', size: 3, status: 'Available' }],
    metadata: { imageVersion: '1.0' },
  })
  const { assets } = await hub.pipeline.run(SYSTEM, 'repositories_GetPackageDetails', found)
  expect(assets).toMatchObject([{ filename: 'docs/notes.md', storage: { status: 'Verified' } }])
  const { s3Config } = await hub.pipeline.run(SYSTEM, 'repositories_GetS3Config', found)
  expect(s3Config).toMatchObject({ endpoint: 'https://s3.example.com', bucket: 'fixture' })
})

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDatabase, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SealKeys } from '../audit/chain.ts'
import { verifyAuditLog } from '../audit/verify.ts'
import { loadInstanceKey } from '../credentials/instance-key.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import { createLog } from '../runtime/log.ts'
import { createTables, migrate } from './server/migrate.ts'

const FIXTURE_KEY = 'f1'.repeat(32)
const FIXTURES = join(import.meta.dirname, 'fixtures')
const MIGRATIONS = join(import.meta.dirname, 'migrations')
const NAMES = readdirSync(FIXTURES).toSorted()
const log = createLog('silent')

/** Times set by `now()` have a fraction of a second; fixture times have none. */
const CLOCK_TIME = /"?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00"?/g

/** Migrated one migration after the other, each on the data of all fixtures before. */
let chain: Awaited<ReturnType<typeof makeDatabase>>

/** Rows of each landed schema after its migration to the newest one. */
let upgraded: Record<string, string[]>[]

beforeAll(async () => {
  chain = await makeDatabase('template0')
  const folder = await mkdtemp(join(tmpdir(), 'muster-migrations-'))
  upgraded = []
  try {
    for (const [at, name] of NAMES.entries()) {
      await copyFile(join(MIGRATIONS, name), join(folder, name))
      expect(await migrate(chain.connection, log, folder)).toBe(name)
      await connected(async client => {
        await addFixtures(client, [name])
        // Roll back afterwards: the next iteration continues from this state.
        await client.query('begin')
        await createTables(client, NAMES.slice(at + 1))
        await addFixtures(client, NAMES.slice(at + 1))
        upgraded.push(await rowsOf(client))
        await client.query('rollback')
      })
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}, 180_000)
// Undefined if it could not be made.
afterAll(() => (chain as typeof chain | undefined)?.drop())

async function connected<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(chain.connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function addFixtures(client: pg.Client, names: readonly string[]): Promise<void> {
  for (const name of names) await client.query(readFileSync(join(FIXTURES, name), 'utf8'))
}

/** All rows of a database as sorted texts, by table. */
async function rowsOf(client: pg.Client): Promise<Record<string, string[]>> {
  const { rows: tables } = await client.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migration'",
  )
  const texts = tables.map(({ name }) =>
    name === 'project_device_count'
      ? // Kept in parts by the process that counts.
        `select '${name}' as name, concat_ws(' ', project_id, sum(devices)) as row from ${name} group by project_id`
      : `select '${name}' as name, t::text as row from "${name}" t`,
  )
  const { rows } = await client.query<{ name: string; row: string }>(texts.join(' union all '))
  const grouped = Map.groupBy(rows, ({ name }) => name)
  return Object.fromEntries(
    [...grouped].map(([name, of]) => [
      name,
      of.map(({ row }) => row.replaceAll(CLOCK_TIME, 'clock')).toSorted(),
    ]),
  )
}

it('has a fixture for every migration, so that the next one can be tried on data', () => {
  expect(NAMES).toEqual(readdirSync(MIGRATIONS).filter(name => name.endsWith('.sql')))
})

it('has no landed migration that was edited', () => {
  const lines = NAMES.map(name => {
    const sql = readFileSync(join(MIGRATIONS, name))
    return `${createHash('sha256').update(sql).digest('hex')}  ${name}`
  })
  expect(
    readFileSync(join(import.meta.dirname, 'migrations.sha256'), 'utf8')
      .trimEnd()
      .split('\n'),
  ).toEqual(lines)
})

it('migrates each landed schema with its data to the newest one, with the same rows whenever a row was written', async () => {
  const expected = await connected(rowsOf)
  expect(Object.keys(expected).length).toBeGreaterThan(40)
  // Migration 0008 adds the host names of the tokens that are there, those of fixture 0003.
  expect(expected.proxy_host).toHaveLength(2)
  for (const [at, rows] of upgraded.entries()) {
    const hosts = at + 1 < 3 ? { proxy_host: [expect.stringContaining('crane.devices.example.com')] } : {}
    expect(rows, `rows that begin with ${NAMES[at]}`).toEqual({ ...expected, ...hosts })
  }
})

it('reads an instance made from the fixtures and verifies its audit log', async () => {
  const client = new pg.Client(chain.connection)
  await client.connect()
  const keys = new SealKeys(await loadInstanceKey('', FIXTURE_KEY))
  expect(await verifyAuditLog(client, keys)).toMatchObject({ isIntact: true, seals: 3, removedSeals: 1 })
  await client.end()

  await using hub = await testHub({ databaseUrl: chain.url, instanceKey: FIXTURE_KEY })
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
  expect(await hub.runJob('devices_FillNameKeys', {})).toMatchObject({ status: 'Completed' })
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
  expect(events).toMatchObject([
    { severity: 'Critical' },
    { body: 'no space left', clockErrorSecs: expect.any(Number) },
    { body: 'checking for updates' },
  ])

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

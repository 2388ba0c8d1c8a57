import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capturedLog, scratchDatabase, testHub, until } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'
import { createHub, type Hub } from '../hub.ts'
import { sealFinishedRows } from '../platform/audit/seal.ts'
import type { AuditReport } from '../platform/audit/verify.ts'
import { loadConfig } from '../platform/config/config.ts'
import { loadInstanceKey } from '../platform/credentials/instance-key.ts'
import { openDatabase } from '../platform/database/client/connection.ts'
import { openEmbeddedDatabase } from '../platform/database/server/embedded.ts'
import { type Ran, runHere } from './testing/run-here.ts'
import { startProcess } from './testing/start-process.ts'

const MAIN = join(import.meta.dirname, '../main.ts')
const { log } = capturedLog()
const root = await mkdtemp(join(tmpdir(), 'muster-verify-'))
await chmod(root, 0o755)
afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 5 }))

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(root, 'data-'))
  await chmod(folder, 0o755)
  return folder
}

function verify(settings: Record<string, string>, ...words: string[]): Promise<Ran> {
  return runHere(['audit', 'verify', ...words], settings)
}

/** Runs `muster-hub audit verify` as a separate process. */
function verifyAsProcess(settings: Record<string, string>, ...words: string[]): Promise<Ran> {
  return startProcess(['audit', 'verify', ...words], settings).ended
}

async function embeddedHub(dataDir: string): Promise<Hub> {
  return createHub(loadConfig({ MUSTER_PORT: '0', MUSTER_DATA_DIR: dataDir }), log)
}

/** Runs a statement as an intruder with write access to the embedded database, whether or not the hub runs. */
async function tamper(dataDir: string, statement: string): Promise<void> {
  await using visit = await openEmbeddedDatabase(dataDir, log)
  await using database = openDatabase(visit.access.owner, () => {})
  await database.pool.query(statement)
}

it('verifies an embedded database with and without its hub, beside which other commands work, too', {
  timeout: 300_000,
}, async () => {
  const dataDir = await newFolder()
  const settings = { MUSTER_DATA_DIR: dataDir }
  let anchor: string
  {
    await using hub = await embeddedHub(dataDir)
    const key = await loadInstanceKey(dataDir, undefined)
    await until('the first seal', async () => {
      await sealFinishedRows(hub.db, key, log)
      return (await hub.db.selectFrom('audit_seal').select('seal_no').execute()).length > 0
    })
    const report = JSON.parse((await verify(settings, '--json')).out) as AuditReport
    expect(report).toMatchObject({
      isIntact: true,
      publicKey: expect.stringMatching(/^MCowBQYDK2VwAyEA.{44}$/),
    })
    expect(report.actions + report.events).toBeGreaterThan(0)
    anchor = report.head!.hash
    const outcome = await verifyAsProcess(settings, '--anchor', anchor)
    expect(outcome).toMatchObject({ code: 0, err: '' })
    expect(outcome.out).toContain('The audit log is intact.')
    expect(outcome.out).toContain('The anchor is one of the seals.')
    expect(outcome.out).toMatch(/hash [0-9a-f]{64}\n/)
    for (const words of [['admin', 'create', 'grace@example.com'], ['migrate'], ['gc']])
      expect(await runHere(words, settings)).toMatchObject({ code: 0, err: '' })
    const publicUrl = `http://127.0.0.1:${hub.address.port}`
    expect(await runHere(['doctor'], { ...settings, MUSTER_PUBLIC_URL: publicUrl })).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^ok {7}database: The embedded PostgreSQL is 18\.\d+, released on \d{4}-\d\d-\d\d/m,
      ),
    })
    expect(await hub.readiness.state()).toEqual({ status: 'ready' })
  }
  expect(await verify(settings, '--anchor', anchor)).toMatchObject({ code: 0 })
  expect(await readdir(dataDir)).not.toContain('hub.lock')

  await tamper(dataDir, `update audit_event set data = data || '{"more": 1}' where seal_no = 1`)
  const changed = await verifyAsProcess(settings)
  expect(changed).toMatchObject({ code: 1, err: '' })
  expect(changed.out).toMatch(/^THE AUDIT LOG IS NOT INTACT\. In seal 1, changed: audit_ev_/)

  await tamper(
    dataDir,
    'delete from audit_seal; update audit_event set seal_no = null; update audit_action set seal_no = null',
  )
  const cut = await verify(settings, '--json', '--anchor', anchor.toUpperCase())
  expect(cut.code).toBe(1)
  expect(JSON.parse(cut.out)).toMatchObject({
    isIntact: false,
    problem: expect.stringContaining('the anchor'),
  })
})

it('verifies an external database with the key of the settings', async () => {
  await using database = await scratchDatabase('muster')
  const settings = { MUSTER_DATABASE_URL: database.url, MUSTER_INSTANCE_KEY: 'ab'.repeat(32) }
  const outcome = await verify({ ...settings, MUSTER_DATA_DIR: join(root, 'none') }, '--json')
  expect(outcome.code).toBe(0)
  expect(JSON.parse(outcome.out)).toMatchObject({ isIntact: true, seals: 0 })
})

it.runIf(process.platform === 'linux')(
  'does not report a changed log when the output cannot be written',
  async () => {
    await using database = await scratchDatabase('muster')
    const settings = { MUSTER_DATABASE_URL: database.url, MUSTER_INSTANCE_KEY: 'ab'.repeat(32) }
    const full = await open('/dev/full', 'w')
    const child = spawn(process.execPath, [MAIN, 'audit', 'verify'], {
      env: settings,
      stdio: ['ignore', full.fd, 'ignore'],
    })
    expect((await once(child, 'close'))[0]).toBe(2)
    await full.close()
  },
)

it('verifies seals of the previous key if that is set', async () => {
  await using database = await scratchDatabase('muster')
  const [before, now] = ['ab'.repeat(32), 'cd'.repeat(32)]
  for (const key of [before, now]) {
    await database.query(
      `insert into audit_event (event_id, event, actor, data, created_at)
       values ('audit_ev_${key}', 'users_Deleted', '{}', '{}', now() - interval '1 day')`,
    )
    await using hub = openDatabase(database.connection, () => {})
    await sealFinishedRows(hub.db, await loadInstanceKey('', key), log)
  }
  const settings = { MUSTER_DATABASE_URL: database.url, MUSTER_INSTANCE_KEY: now }
  expect(await verify(settings)).toMatchObject({
    code: 1,
    out: expect.stringContaining('Seal 1 is not signed with the key of this instance.'),
  })
  expect(await verify({ ...settings, MUSTER_INSTANCE_KEY_PREVIOUS: before })).toMatchObject({
    code: 0,
    out: expect.stringContaining('Verified: 2 seals over 0 actions and 2 events.'),
  })
})

it('reports why it cannot verify, with exit code 2, and creates no files', { timeout: 120_000 }, async () => {
  const dataDir = await newFolder()
  await using empty = await scratchDatabase()
  const key = 'ab'.repeat(32)
  for (const [settings, words, expected] of [
    [{}, [], /^MUSTER_INSTANCE_KEY: found neither it nor .*instance-key, expected/],
    [{ MUSTER_INSTANCE_KEY: key }, [], /^There is no database in /],
    [
      { MUSTER_INSTANCE_KEY: key, MUSTER_DATABASE_URL: empty.url },
      [],
      /^The database is one of an older hub/,
    ],
    [
      { MUSTER_INSTANCE_KEY: key, MUSTER_DATABASE_URL: 'postgresql://127.0.0.1:1/x' },
      [],
      /^MUSTER_DATABASE_URL: found a database that does not let the hub in/,
    ],
    [{}, ['--anchor', 'abc'], /^option '--anchor <hash>' argument 'abc' is invalid. Expected 64 hexadecimal/],
  ] as const)
    expect(await verify({ MUSTER_DATA_DIR: dataDir, ...settings }, ...words)).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(new RegExp(`${expected.source}[^\\n]*\n$`)),
    })
  const outcome = await verifyAsProcess({ MUSTER_DATA_DIR: dataDir }, '--fast')
  expect(outcome).toEqual({
    code: 2,
    out: '',
    err: "unknown option '--fast'. See muster-hub audit verify --help\n",
  })
  expect(await readdir(dataDir)).toEqual([])
})

it('O21: counts one seal as one', async () => {
  await using hub = await testHub()
  await hub.user({ isAdmin: true })
  await hub.fleet()
  const key = await loadInstanceKey(hub.dataDir, undefined)
  await until('the first seal', async () => {
    await sealFinishedRows(hub.db, key, log)
    return (await hub.db.selectFrom('audit_seal').select('seal_no').execute()).length > 0
  })
  const { out } = await verify({
    MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
    MUSTER_DATA_DIR: hub.dataDir,
  })
  expect(out).toMatch(/^Verified: 1 seal over \d+ actions? and \d+ events?\.$/m)
})

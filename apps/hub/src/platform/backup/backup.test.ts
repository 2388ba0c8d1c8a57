import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, watch, writeFileSync } from 'node:fs'
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import {
  capturedLog,
  connectDevice,
  type DatabaseSession,
  databaseSession,
  digestOf,
  fakeS3,
  putBytes,
  type ScratchDatabase,
  scratchDatabase,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { SealKeys } from '../audit/chain.ts'
import { verifyAuditLog } from '../audit/verify.ts'
import { loadConfig } from '../config/config.ts'
import { instanceKeyOf } from '../credentials/instance-key.ts'
import { migrate } from '../database/server/migrate.ts'
import { createLog } from '../runtime/log.ts'
import { newBackupPath, removeOldBackups, removeOldCopies } from './kept-backups.ts'
import { connectForCopy, endSnapshot, takeSnapshot } from './snapshot.ts'
import { contentsOf, done, FIXTURE_KEY, fixtureDatabase, schemaOf } from './testing/fixture-database.ts'

const PASSPHRASE = 'correct horse battery'
const root = await mkdtemp(join(tmpdir(), 'muster-backup-'))
await chmod(root, 0o755)

let source: ScratchDatabase
let hub: TestHub
/** Settings of the commands that read the instance. */
let settings: Record<string, string>
let repositoryId: string
let owner: Awaited<ReturnType<TestHub['user']>>

const WAITING_COPIES = "application_name = 'muster copy' and wait_event_type = 'Lock'"

beforeAll(async () => {
  source = await fixtureDatabase()
  hub = await testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY })
  settings = {
    MUSTER_DATABASE_URL: source.url,
    MUSTER_DATA_DIR: hub.dataDir,
    MUSTER_INSTANCE_KEY: FIXTURE_KEY,
  }
  owner = await hub.user()
  repositoryId = await hub.repository(owner, await hub.organization(owner))
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await source[Symbol.asyncDispose]()
  await rm(root, { recursive: true, force: true })
})

async function upload(bytes: Buffer): Promise<string> {
  const made = await owner.invoke('repositories_CreateAsset', {
    repositoryId,
    size: bytes.length,
    digest: digestOf(bytes),
  })
  if (made.result !== 'Created') throw new Error(`the asset is ${made.result}`)
  const { assetId } = made
  const { url } = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
  expect((await putBytes(url, bytes)).ok).toBe(true)
  return assetId
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(root, 'data-'))
  await chmod(folder, 0o755)
  return folder
}

it('goal R14: backs up a running hub, and restores it with its devices into an empty database with all rows and definitions', async () => {
  const path = join(root, 'plain.backup')
  const { token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const before = await contentsOf(source)
  await hub.db.transaction().execute(async tx => {
    await hub.jobs.enqueue(tx, 'users_SendPasswordEmail', { jwtId: 'waiting' })
    // Otherwise the hub may run the job before the backup begins.
    await sql`update pgboss.job set start_after = now() + interval '1 hour' where name = 'users_SendPasswordEmail'`.execute(
      tx,
    )
  })
  const made = await runHere(['backup', path, '--no-verify'], settings)
  expect(made).toMatchObject({ code: 0, err: '' })
  const still = await contentsOf(source)
  expect(made.out).toContain('It was not restored on trial (--no-verify).')
  const { mode, size: sizeBytes } = await stat(path)
  expect(mode & 0o777).toBe(0o600)
  const { backup } = await (await hub.user({ isAdmin: true })).invoke('instance_GetHealth', {})
  expect(backup).toMatchObject({ value: { last: { sizeBytes, isVerified: false } } })
  expect(await readFile(path, 'latin1')).not.toContain(FIXTURE_KEY)

  await using target = await scratchDatabase()
  const dataDir = await newFolder()
  const restored = await runHere(['restore', path], {
    ...settings,
    MUSTER_DATABASE_URL: target.url,
    MUSTER_DATA_DIR: dataDir,
  })
  expect(restored).toMatchObject({ code: 0, err: '' })
  expect(restored.out).toContain('sessions have ended: everybody signs in again.')
  expect(restored.out).toContain('Cancelled the job users_SendPasswordEmail (job_')
  expect(restored.out).toContain('Rights that were revoked after the backup are back')
  const after = await contentsOf(target)
  // The running hub changes some tables meanwhile. The restore makes its node a stopped one, and gives feeds another epoch, so that cursors
  // from before are refused.
  const changed = ['cluster_node', 'outbox_reader']
  const unchanged = Object.keys(before).filter(
    name => before[name] === still[name] && !changed.includes(name),
  )
  expect(unchanged.length).toBeGreaterThan(40)
  // The fixtures have a label and a view.
  expect(unchanged).toEqual(expect.arrayContaining(['device_label', 'device_view']))
  for (const name of unchanged) expect(after[name], name).toBe(before[name])
  expect(await schemaOf(target)).toEqual(await schemaOf(source))
  expect(await target.query('select count(*)::int as n from session')).toEqual([{ n: 0 }])

  await using again = await testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })
  // The device needs no approval: its certificate and its token are restored.
  await using back = await connectDevice({ url: again.url, token, identity: device.identity })
  expect(back.deviceId).toBe(device.deviceId)
  await back.invoke('devices_SetProperty', { deviceId: back.deviceId, name: 'after', value: 1 })
  const client = new pg.Client(target.connection)
  await client.connect()
  const keys = new SealKeys(instanceKeyOf(FIXTURE_KEY))
  expect(await verifyAuditLog(client, keys)).toMatchObject({ isIntact: true, seals: 3 })
  await client.end()
  const events = await again.db
    .selectFrom('audit_event')
    .where('event', '=', 'instance_Restored')
    .select('data')
    .execute()
  expect(events).toMatchObject([{ data: { jobIds: [expect.stringMatching(/^job_/)] } }])
})

it('O21: no start after a restore marks the nodes of the backup as dead', async () => {
  const path = join(root, 'nodes.backup')
  expect(await runHere(['backup', path, '--no-verify'], settings)).toMatchObject({ code: 0, err: '' })
  await using target = await scratchDatabase()
  const place = { MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: await newFolder() }
  expect(await runHere(['restore', path], { ...settings, ...place })).toMatchObject({ code: 0, err: '' })
  expect(await target.query('select from cluster_node where left_at is null')).toEqual([])
  const { log, lines } = capturedLog()
  await using again = await testHub(
    { databaseUrl: target.url, instanceKey: FIXTURE_KEY, heartbeatMs: 250 },
    log,
  )
  await until('the node evicts dead nodes', async () => {
    const rows = await target.query(
      `select from cluster_node where node_id = '${again.nodeId}' and last_heartbeat > joined_at + interval '3 s'`,
    )
    return rows.length > 0
  })
  expect(lines.filter(({ msg }) => msg.includes('marked as dead'))).toEqual([])
})

it('restores an encrypted backup with files and key, without files that were damaged or missing', async () => {
  const bytes = randomBytes(3 * 1024 * 1024)
  const [assetId, missing, damaged, unreadable] = [
    await upload(bytes),
    await upload(randomBytes(10)),
    await upload(Buffer.from('good')),
    await upload(Buffer.from('read me')),
  ]
  await rm(hub.blobs.pathOf(missing))
  await writeFile(hub.blobs.pathOf(damaged), 'evil')
  // A folder opens and cannot be read, as a file on a broken disk.
  await rm(hub.blobs.pathOf(unreadable))
  await mkdir(hub.blobs.pathOf(unreadable))
  const path = join(root, 'full.backup')
  const passphraseFile = join(root, 'passphrase')
  await writeFile(passphraseFile, `${PASSPHRASE}\n`)
  const words = ['backup', path, '--blobs', '--with-key', '--passphrase-file', passphraseFile, '--no-verify']
  const elsewhere = { ...settings, MUSTER_DATA_DIR: await newFolder() }
  expect((await runHere(words, elsewhere)).err).toContain(
    'which is not the folder that the nodes of this database used last',
  )
  expect(existsSync(path)).toBe(false)
  // The fixtures have a missing file, too.
  const lost = { missingBlobs: 2, damagedBlobs: 2 }
  const made = await runHere([...words, '--json'], settings)
  expect({ code: made.code, report: JSON.parse(made.out) }).toMatchObject({
    code: 1,
    report: { isVerified: false, hasKey: true, ...lost },
  })
  expect((JSON.parse(made.out) as { faultyBlobs: object[] }).faultyBlobs).toEqual(
    expect.arrayContaining([
      { assetId: missing, problem: 'missing' },
      { assetId: damaged, problem: 'changed' },
      { assetId: unreadable, problem: 'EISDIR' },
    ]),
  )
  expect(await source.query("select value from instance_setting where key = 'last-backup'")).toMatchObject([
    { value: lost },
  ])
  const stored = await readFile(path)
  for (const secret of [FIXTURE_KEY, PASSPHRASE, assetId]) expect(stored.includes(secret)).toBe(false)

  await using target = await scratchDatabase()
  const dataDir = await newFolder()
  const into = { MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: dataDir }
  expect(await runHere(['restore', path], into, { input: 'a wrong one\n' })).toEqual({
    code: 1,
    out: '',
    err: 'The passphrase is not the one with which the backup was encrypted.\n',
  })
  expect(await done(['restore', path], into, `${PASSPHRASE}\n`)).toMatchObject({
    wasVerified: false,
    damagedBlobs: 2,
  })
  expect((await readFile(join(dataDir, 'instance-key'), 'utf8')).trim()).toBe(FIXTURE_KEY)
  expect((await stat(join(dataDir, 'instance-key'))).mode & 0o777).toBe(0o600)
  const shard = Buffer.from(assetId.slice(-2)).toString('hex')
  expect(bytes.equals(await readFile(join(dataDir, 'blobs', shard, assetId)))).toBe(true)
  expect(existsSync(join(dataDir, 'unfinished-restore'))).toBe(false)
  // The preceding test's backup was made by the original instance.
  const watched = `select value ? 'place' as "isWatched" from instance_setting where key = 'last-backup'`
  expect(await source.query(watched)).toEqual([{ isWatched: true }])
  expect(await target.query(watched)).toEqual([{ isWatched: false }])

  await using empty = await scratchDatabase()
  const refusal = async (changed: Record<string, string>): Promise<string> =>
    (await runHere(['restore', path], changed, { input: `${PASSPHRASE}\n` })).err
  expect(await refusal({ ...into, MUSTER_DATABASE_URL: empty.url })).toBe(
    `MUSTER_DATA_DIR: found files in ${join(dataDir, 'blobs')}, expected an empty folder for the files of the backup.\n`,
  )
  expect(await refusal({ MUSTER_DATA_DIR: dataDir })).toBe(
    `MUSTER_DATA_DIR: found ${join(dataDir, 'blobs')}, expected an empty folder, in which at most the file instance-key may be.\n`,
  )
})

it('keeps the bytes of deleted files until a backup has ended', async () => {
  const assetId = await upload(randomBytes(20))
  const client = new pg.Client(source.connection)
  await client.connect()
  await client.query("select pg_advisory_lock(hashtext('muster.blobs'))")
  await owner.invoke('repositories_DeleteAsset', { assetId })
  await hub.runJob('repositories_SweepBlobs', {})
  expect(existsSync(hub.blobs.pathOf(assetId))).toBe(true)
  await client.end()
  await hub.runJob('repositories_SweepBlobs', {})
  expect(existsSync(hub.blobs.pathOf(assetId))).toBe(false)
})

it('keeps and contains a file that is deleted and swept while it runs', async () => {
  const pieces = [randomBytes(30), randomBytes(30)]
  const uploaded: string[] = []
  for (const bytes of pieces) uploaded.push(await upload(bytes))
  const [held, deleted] = uploaded.toSorted() as [string, string]
  // The backup waits for the writer of a named pipe.
  await rm(hub.blobs.pathOf(held))
  execFileSync('mkfifo', [hub.blobs.pathOf(held)])
  const path = join(root, 'held.backup')
  const made = runHere(['backup', path, '--blobs', '--no-verify', '--json'], settings)
  const pipe = await open(hub.blobs.pathOf(held), 'w')
  await owner.invoke('repositories_DeleteAsset', { assetId: deleted })
  await hub.runJob('repositories_SweepBlobs', {})
  expect(existsSync(hub.blobs.pathOf(deleted))).toBe(true)
  await pipe.writeFile(pieces[uploaded.indexOf(held)]!)
  await pipe.close()
  const { faultyBlobs } = JSON.parse((await made).out) as { faultyBlobs: { assetId: string }[] }
  expect(faultyBlobs.filter(({ assetId }) => uploaded.includes(assetId))).toEqual([])
  await hub.runJob('repositories_SweepBlobs', {})
  expect(existsSync(hub.blobs.pathOf(deleted))).toBe(false)
  await rm(hub.blobs.pathOf(held))
  await writeFile(hub.blobs.pathOf(held), pieces[uploaded.indexOf(held)]!)

  await using target = await scratchDatabase()
  const dataDir = await newFolder()
  await done(['restore', path], { ...settings, MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: dataDir })
  const restored = join(dataDir, 'blobs', relative(join(hub.dataDir, 'blobs'), hub.blobs.pathOf(deleted)))
  expect(pieces[uploaded.indexOf(deleted)]!.equals(await readFile(restored))).toBe(true)
})

it('lets one of two backups at once through', async () => {
  await using session = await databaseSession(hub)
  await session.lock('device')
  const folder = await newFolder()
  const first = runHere(['backup', join(folder, 'first'), '--no-verify'], settings)
  await copyWaits(session)
  const second = await runHere(['backup', join(folder, 'second'), '--no-verify'], settings)
  expect(second).toMatchObject({
    code: 1,
    err: 'Another backup of this instance runs: wait until it has ended.\n',
  })
  await session.release()
  expect((await first).code).toBe(0)
  expect(await readdir(folder)).toEqual(['first'])
})

it('says in one line that its database went away, and leaves no file', async () => {
  await using session = await databaseSession(hub)
  await session.lock('device')
  const folder = await newFolder()
  const made = runHere(['backup', join(folder, 'file'), '--no-verify'], settings)
  await copyWaits(session)
  await session.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${WAITING_COPIES}`)
  await session.release()
  const { code, out, err } = await made
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^The database failed: [^\n]+\. Run the command again\.\n$/)
  expect(await readdir(folder)).toEqual([])
})

it('refuses a second backup of the instance, an existing file and a folder that is not there', async () => {
  const path = join(root, 'second.backup')
  const client = new pg.Client(source.connection)
  await client.connect()
  await client.query("select pg_advisory_lock(hashtext('muster.backup'))")
  const refusal = async (file: string): Promise<string> => {
    const { code, err } = await runHere(['backup', file, '--no-verify'], settings)
    expect(code).toBe(1)
    return err
  }
  expect(await refusal(path)).toBe('Another backup of this instance runs: wait until it has ended.\n')
  await client.end()
  await writeFile(path, 'x')
  expect(await refusal(path)).toBe(`${path} exists already, expected the name of a new file.\n`)
  // Another process takes the name while the backup is written.
  const folder = join(root, 'taken')
  await mkdir(folder)
  const taken = join(folder, 'file')
  const watcher = watch(folder).once('change', () => writeFileSync(taken, 'of another'))
  expect(await refusal(taken)).toBe(`${taken} exists already, expected the name of a new file.\n`)
  watcher.close()
  expect(await readdir(folder)).toEqual(['file'])
  expect(await readFile(taken, 'utf8')).toBe('of another')
  expect(await refusal(join(root, 'absent/file'))).toMatch(
    /\(ENOENT\), expected one in which the account \S+ can write file\.\n$/,
  )
})

it('O16: keeps the newest backups of a folder and the newest good one, here and in the object storage', async () => {
  await using s3 = await fakeS3()
  const folder = join(root, 'nightly')
  const nightly = {
    ...settings,
    MUSTER_BACKUP_DIR: folder,
    MUSTER_BACKUP_KEEP: '2',
    MUSTER_BACKUP_S3: '1',
    MUSTER_S3_ENDPOINT: s3.endpoint,
    MUSTER_S3_BUCKET: s3.bucket,
    MUSTER_S3_PREFIX: 'muster',
    MUSTER_S3_ACCESS_KEY_ID: s3.accessKeyId,
    MUSTER_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
  }
  const { path } = await done(['backup', '--no-verify'], nightly)
  const name = basename(String(path))
  expect(name).toMatch(/^muster-\d{4}-\d\d-\d\dT\d{6}Z\.backup$/)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect(s3.objects.get(`muster/backups/${name}`)).toEqual(await readFile(join(folder, name)))

  // Older ones, one of them the newest good one, a killed one of days ago, and files of others.
  const nameOf = (day: number): string => `muster-2026-01-0${day}T023000Z.backup`
  for (const day of [1, 2, 3]) {
    await writeFile(join(folder, nameOf(day)), '')
    s3.objects.set(`muster/backups/${nameOf(day)}`, Buffer.of())
  }
  await writeFile(join(folder, 'newest-good'), `${nameOf(1)}\n`)
  await writeFile(join(folder, 'muster-2025.backup'), '')
  const draft = `${nameOf(1)}.x.partial`
  await writeFile(join(folder, draft), '')
  await utimes(join(folder, draft), 0, 0)
  expect(await removeOldBackups(loadConfig(nightly))).toEqual([nameOf(2)])
  await removeOldCopies(loadConfig(nightly))
  const left = [nameOf(1), nameOf(3), name]
  expect((await readdir(folder)).toSorted()).toEqual(
    [...left, 'muster-2025.backup', 'newest-good'].toSorted(),
  )
  expect([...s3.objects.keys()].toSorted()).toEqual(left.map(one => `muster/backups/${one}`))

  // While the storage fails, the folder does not grow, and the storage keeps what it has.
  const kept = [...s3.objects.keys()]
  await until('a backup gets another name', async () => (await newBackupPath(loadConfig(nightly))) !== path)
  s3.misbehave({ does: 'answers', status: 403, code: 'AccessDenied' })
  const failed = await runHere(['backup', '--no-verify'], nightly)
  expect(failed).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(
      /^The backup was made, but the object storage failed: [^\n]+ Mend it, [^\n]+\n$/,
    ),
  })
  const files = (await readdir(folder)).filter(file => /Z\.backup$/.test(file))
  expect(files).toHaveLength(2)
  expect(files).toContain(name)
  expect([...s3.objects.keys()]).toEqual(kept)
  s3.behave()
  await removeOldCopies(loadConfig(nightly))
  expect([...s3.objects.keys()]).toEqual([`muster/backups/${name}`])
  expect((await readdir(folder)).filter(file => file.endsWith('.copy'))).toEqual([])
  expect((await runHere(['backup'], { ...settings, MUSTER_BACKUP_S3: '1' })).err).toBe(
    'MUSTER_S3_ENDPOINT: found nothing, expected the object storage for backups because MUSTER_BACKUP_S3 is set.\n',
  )
})

it('O16: restores a backup on trial where its server can enter, when root makes it in a closed folder', async ({
  skip,
}) => {
  if (process.getuid?.() !== 0) return skip('needs root, whose PostgreSQL has another account')
  const folder = await mkdtemp(join(root, 'closed-'))
  const path = join(folder, 'file')
  expect(await done(['backup', path], settings)).toMatchObject({ isVerified: true })
  expect(await readdir(folder)).toEqual(['file'])
  expect((await readdir('/var/tmp')).filter(name => name.startsWith('muster-verify-'))).toEqual([])
})

it('lets a hub start while a backup runs, and a migration wait', async () => {
  await using stack = new AsyncDisposableStack()
  const snapshot = await takeSnapshot(await connectForCopy(source.connection, stack))
  await using _hub = await testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY })
  // A migration would block the tables of the hub while it waits for the backup's table locks.
  const folder = await mkdtemp(join(root, 'migrations-'))
  await cp(join(import.meta.dirname, '../database/migrations'), folder, { recursive: true })
  await writeFile(join(folder, '9999_note.sql'), 'alter table device add column fixture_note text')
  const log = createLog('silent')
  await expect(migrate(source.connection, log, folder, { mayWait: false })).rejects.toThrow(
    'A backup of this database runs',
  )
  const migrated = migrate(source.connection, log, folder)
  await endSnapshot(snapshot)
  expect(await migrated).toBe('9999_note.sql')
})

/** Waits until a backup waits for a table that the session has locked. */
async function copyWaits(session: DatabaseSession): Promise<void> {
  await until('the backup waits for the table', async () => {
    await session.query('select pg_stat_clear_snapshot()')
    return (await session.query(`select from pg_stat_activity where ${WAITING_COPIES}`)).length > 0
  })
}

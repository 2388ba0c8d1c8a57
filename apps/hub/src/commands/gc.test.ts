import { randomBytes } from 'node:crypto'
import { chown, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseSession, digestOf, putBytes, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addGcCommand } from './gc.ts'
import { runHere } from './testing/run-here.ts'
import { startProcess } from './testing/start-process.ts'

let hub: TestHub
let root: string
let blobs: string

beforeAll(async () => {
  hub = await testHub()
  root = await mkdtemp(join(tmpdir(), 'muster-gc-'))
  blobs = join(hub.dataDir, 'blobs')
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(root, { recursive: true })
})

/** Runs gc on the hub. Databases outside of their data folders are looked for in `place`. */
function gc(words: string[], settings: Record<string, string> = {}, place = join(root, 'none')) {
  return runHere(
    ['gc', ...words],
    { MUSTER_DATABASE_URL: hub.pool.options.connectionString, MUSTER_DATA_DIR: hub.dataDir, ...settings },
    { commands: [(program, line) => addGcCommand(program, line, place)] },
  )
}

/** Paths of all files of blobs, without the marker of the folder. */
async function files(): Promise<string[]> {
  const entries = await readdir(blobs, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile() && entry.name !== 'folder-id').map(({ name }) => name)
}

it('lists files that nothing needs, and removes them only when it is told to', async () => {
  const owner = await hub.user()
  const repositoryId = await hub.repository(owner, await hub.organization(owner))
  const bytes = randomBytes(100)
  const { assetId } = await owner.invoke('repositories_CreateAsset', {
    repositoryId,
    size: bytes.length,
    digest: digestOf(bytes),
  })
  const { url } = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
  expect((await putBytes(url, bytes)).status).toBe(200)
  expect(await gc([])).toEqual({ code: 0, out: 'Nothing is left over.\n', err: '' })

  await mkdir(join(blobs, '6162'), { recursive: true })
  await mkdir(join(blobs, 'incoming'), { recursive: true })
  await writeFile(join(blobs, '6162', 'unknown'), Buffer.alloc(1024 * 1024))
  await writeFile(join(blobs, 'incoming', 'running'), 'bytes')
  await writeFile(join(blobs, 'incoming', 'dead'), 'bytes')
  await utimes(join(blobs, 'incoming', 'dead'), 0, 0)
  const listed = [
    'Remains of uploads: 1 file, 0.0 MiB.',
    'Files that the database does not know: 1 file, 1.0 MiB.',
    'Nothing was changed; --delete removes these files.',
    '',
  ]
  expect((await gc([])).out.split('\n')).toEqual(listed)
  expect(await files()).toEqual(expect.arrayContaining([assetId, 'unknown', 'running', 'dead']))

  const { code, out } = await gc(['--delete', '--json'])
  expect({ code, out: JSON.parse(out) }).toEqual({
    code: 0,
    out: {
      isDryRun: false,
      files: {
        upload: { files: 1, bytes: 5 },
        unknown: { files: 1, bytes: 1024 * 1024 },
        lost: { files: 0, bytes: 0 },
      },
      databases: [],
    },
  })
  expect((await files()).toSorted()).toEqual([assetId, 'running', 'unknown'].toSorted())
  expect(await readdir(join(blobs, 'lost'))).toEqual(['unknown'])
  expect((await gc([])).out).toBe('Nothing is left over.\n')
  expect((await gc(['--delete', '--lost'])).out).toBe('Removed from lost/: 1 file, 1.0 MiB.\n')
  expect((await files()).toSorted()).toEqual([assetId, 'running'].toSorted())
})

it('refuses the files of another instance, and a second run at the same time', async () => {
  const other = join(root, 'other')
  await mkdir(join(other, 'blobs/6162'), { recursive: true })
  await writeFile(join(other, 'blobs/folder-id'), 'another')
  expect(await gc(['--delete'], { MUSTER_DATA_DIR: other })).toEqual({
    code: 1,
    out: '',
    err: `MUSTER_DATA_DIR: found ${other}/blobs, which is not the folder that the nodes of this database used last, expected that one.\n`,
  })
  const refused = {
    code: 1,
    out: '',
    err: 'Another muster-hub gc runs on this instance: wait until it has ended.\n',
  }
  const both = await Promise.all([gc(['--delete']), gc(['--delete'])])
  expect(both.some(({ code }) => code === 0)).toBe(true)
  for (const ran of both) if (ran.code !== 0) expect(ran).toEqual(refused)
  await using session = await databaseSession(hub)
  await session.query("select pg_advisory_lock(hashtext('muster.gc'))")
  expect(await gc(['--delete'])).toEqual(refused)
})

it('removes a database only when it is named, and only one to which no data folder leads', async () => {
  const place = join(root, 'lib')
  const dataDir = join(root, 'data')
  const [used, gone] = [join(place, 'used'), join(place, 'gone')]
  for (const [folder, of] of [
    [used, dataDir],
    [gone, join(root, 'deleted')],
  ] as const) {
    await mkdir(join(folder, '18/data'), { recursive: true })
    await writeFile(join(folder, 'owner'), `${of}/postgres/elsewhere\n`)
  }
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await writeFile(join(dataDir, 'postgres/elsewhere'), `${used}\n`)
  expect((await gc(['--delete'], {}, place)).out).toBe(
    `${gone}: a database to which no data folder leads; it was that of ${join(root, 'deleted')}.\nIf the data folder of a database was moved, start the hub with it. If it is gone for good: muster-hub gc --delete-database FOLDER\n`,
  )
  for (const [folder, problem] of [
    [used, `, which is the database of ${dataDir}`],
    [root, ''],
  ])
    expect(await gc(['--delete-database', folder!], {}, place)).toEqual({
      code: 1,
      out: '',
      err: `--delete-database: found ${folder}${problem}, expected one of the databases that muster-hub gc lists.\n`,
    })
  expect(await gc(['--delete-database', gone], {}, place)).toEqual({
    code: 0,
    out: `${gone} was removed.\n`,
    err: '',
  })
  expect(await readdir(place)).toEqual(['used'])
})

it('goes on after it was killed', async () => {
  await mkdir(join(blobs, '6162'), { recursive: true })
  await writeFile(join(blobs, '6162', 'left'), '')
  await using session = await databaseSession(hub)
  await session.lock('asset')
  const { child, ended } = startProcess(['gc', '--delete'], {
    MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
    MUSTER_DATA_DIR: hub.dataDir,
  })
  await session.waitingStatements(1)
  child.kill('SIGKILL')
  await ended
  await session.release()
  expect(await files()).toContain('left')
  await until('the lock of the killed run is free', async () => (await gc(['--delete'])).code === 0)
  expect(await readdir(join(blobs, 'lost'))).toContain('left')
})

it.runIf(process.getuid?.() === 0)('as root makes lost/ for the account of the hub', async () => {
  const { rows } = await hub.pool.query<{ value: string }>(
    "select value #>> '{}' as value from instance_setting where key = 'blob-folder'",
  )
  const dataDir = join(root, 'foreign')
  await mkdir(join(dataDir, 'blobs/6162'), { recursive: true })
  await writeFile(join(dataDir, 'blobs/folder-id'), rows[0]!.value)
  await writeFile(join(dataDir, 'blobs/6162/unknown'), '')
  await chown(join(dataDir, 'blobs'), 65534, 65534)
  expect((await gc(['--delete'], { MUSTER_DATA_DIR: dataDir })).code).toBe(0)
  expect(await stat(join(dataDir, 'blobs/lost'))).toMatchObject({ uid: 65534, gid: 65534 })
})

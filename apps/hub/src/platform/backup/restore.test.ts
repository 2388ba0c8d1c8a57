import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { databaseWire, type ScratchDatabase, scratchDatabase } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { createHub } from '../../hub.ts'
import { loadConfig } from '../config/config.ts'
import { createLog } from '../runtime/log.ts'
import { done, FIXTURE_KEY, fixtureDatabase } from './testing/fixture-database.ts'
import { forgedBackup } from './testing/forged-backup.ts'

/** File of the fixtures, and its place in a folder of files. */
const ASSET = 'repo_a_8nDhz5C6grSMrptyYbHrhx'
const PLACE = join('blobs/6878', ASSET)
/** Bytes that a client of PostgreSQL sends for the last two statements of a restore, each a message with its length. */
const COMMIT = 'drop table unfinished_copy\0Q\0\0\0\x0bcommit\0'

const root = await mkdtemp(join(tmpdir(), 'muster-restore-'))
await chmod(root, 0o755)
let source: ScratchDatabase
let good: string

beforeAll(async () => {
  source = await fixtureDatabase()
  good = join(root, 'good.backup')
  const dataDir = join(root, 'source')
  await writeNew(join(dataDir, PLACE), 'abc')
  await done(['backup', good, '--blobs', '--no-verify'], {
    MUSTER_DATABASE_URL: source.url,
    MUSTER_DATA_DIR: dataDir,
    MUSTER_INSTANCE_KEY: FIXTURE_KEY,
  })
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await rm(root, { recursive: true, force: true })
})

async function writeNew(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

/** Paths of all files in a data folder. */
async function filesIn(dataDir: string): Promise<string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile() && entry.name !== 'hub.lock')
    .map(({ parentPath, name }) => join(parentPath, name).slice(dataDir.length + 1))
    .toSorted()
}

it('removes nothing that it restored when the answer to its commit is lost, and only finishes when it is run again', async () => {
  await using target = await scratchDatabase()
  await using wire = await databaseWire(target)
  const dataDir = join(root, 'lost-answer')
  await writeNew(join(dataDir, 'instance-key'), `${FIXTURE_KEY}\n`)
  const mark = join(dataDir, 'unfinished-restore')
  wire.loseAnswer(COMMIT)
  const cut = await runHere(['restore', good], { MUSTER_DATABASE_URL: wire.url, MUSTER_DATA_DIR: dataDir })
  expect(cut).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^[^\n]+\n$/) })
  expect(wire.lost).toBe(1)
  expect(await readFile(mark, 'utf8')).toBe('blobs\n')
  const settings = { MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: dataDir }
  await expect(createHub(loadConfig({ ...settings, MUSTER_PORT: '0' }), createLog('silent'))).rejects.toThrow(
    'that was not finished',
  )

  const again = await runHere(['restore', good], settings)
  expect(again).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Finished the restore of the backup of /),
  })
  expect(await filesIn(dataDir)).toEqual([PLACE, 'instance-key'])
  expect(await readFile(join(dataDir, PLACE), 'utf8')).toBe('abc')
  expect(await target.query('select count(*)::int as n from device')).toEqual([{ n: 4 }])

  // A third time, and once more with another empty database: both refuse, and remove nothing.
  await using empty = await scratchDatabase()
  for (const url of [target.url, empty.url]) {
    const refused = await runHere(['restore', good], { ...settings, MUSTER_DATABASE_URL: url })
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('expected an empty') })
  }
  expect(await filesIn(dataDir)).toEqual([PLACE, 'instance-key'])

  // The database has been restored from a later backup since.
  await target.query(
    `insert into audit_event (event_id, event, actor, data, created_at)
     select 'later', event, actor, '{"backedUpAt": "2099-01-01T00:00:00.000Z"}', now() + interval '1 minute'
       from audit_event where event = 'instance_Restored'`,
  )
  await writeFile(mark, 'blobs\n')
  expect((await runHere(['restore', good], settings)).err).toContain('expected an empty one')
  expect(await filesIn(dataDir)).toEqual([PLACE, 'instance-key', 'unfinished-restore'])
})

it('removes what it wrote when it fails after some files, and nothing else', async () => {
  const path = await forgedBackup(good, root, ({ header, body }) =>
    // The last part names a file that the database does not have.
    header.kind === 'blob'
      ? [
          { header, body },
          { header: { kind: 'blob', assetId: 'repo_a_unknown' }, body },
        ]
      : [{ header, body }],
  )
  await using target = await scratchDatabase()
  const dataDir = join(root, 'failed')
  const kept = ['blobs/folder-id', 'blobs/lost/repo_a_old', 'settings.toml']
  for (const name of kept) await writeNew(join(dataDir, name), 'x')
  const failed = await runHere(
    ['restore', path],
    { MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: dataDir },
    { input: `${FIXTURE_KEY}\n` },
  )
  expect(failed).toEqual({
    code: 1,
    out: '',
    err: 'The backup has the file repo_a_unknown, which its database does not know.\n',
  })
  expect(await filesIn(dataDir)).toEqual(kept)
  expect(existsSync(join(dataDir, dirname(PLACE)))).toBe(false)
  expect(await target.query("select to_regclass('device') as device")).toEqual([{ device: null }])
})

it('refuses an instance key of any length', async () => {
  const path = await forgedBackup(good, root, ({ header, body }) =>
    header.kind === 'blob'
      ? [{ header: { kind: 'instance-key' }, body: Buffer.alloc(2_000, 'a') }]
      : [{ header, body }],
  )
  const refused = await runHere(['restore', path], {
    MUSTER_DATABASE_URL: source.url,
    MUSTER_DATA_DIR: join(root, 'long-key'),
  })
  expect(refused.err).toBe(
    'The backup has an instance key of more than 1024 bytes, expected 64 hexadecimal digits.\n',
  )
})

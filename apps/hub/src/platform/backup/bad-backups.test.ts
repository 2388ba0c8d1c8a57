import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { type ScratchDatabase, scratchDatabase } from '@muster/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { createHub } from '../../hub.ts'
import { keyMark } from '../cluster/shared-key.ts'
import { loadConfig } from '../config/config.ts'
import { instanceKeyOf } from '../credentials/instance-key.ts'
import { createLog } from '../runtime/log.ts'
import { BackupFile, type BackupHeader } from './backup-file.ts'
import type { PartHeader } from './parts.ts'
import { done, FIXTURE_KEY, fixtureDatabase } from './testing/fixture-database.ts'
import { forgedBackup } from './testing/forged-backup.ts'

const root = await mkdtemp(join(tmpdir(), 'muster-bad-backups-'))
await chmod(root, 0o755)
let source: ScratchDatabase
let target: ScratchDatabase
let good: string
let bytes: Buffer
/** Settings of a restore into the empty database. */
let settings: Record<string, string>

beforeAll(async () => {
  source = await fixtureDatabase()
  target = await scratchDatabase()
  await source.query(
    `insert into instance_setting (key, value) values ('instance-key', '"${keyMark(instanceKeyOf(FIXTURE_KEY))}"')
      on conflict (key) do update set value = excluded.value`,
  )
  const dataDir = join(root, 'source')
  good = join(root, 'good.backup')
  await done(['backup', good, '--no-verify'], { MUSTER_DATABASE_URL: source.url, MUSTER_DATA_DIR: dataDir })
  bytes = await readFile(good)
  settings = {
    MUSTER_DATABASE_URL: target.url,
    MUSTER_DATA_DIR: join(root, 'target'),
    MUSTER_INSTANCE_KEY: FIXTURE_KEY,
  }
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await target[Symbol.asyncDispose]()
  await rm(root, { recursive: true, force: true })
})

/** Restores a file that must be refused, and returns the message. Nothing may be left in the target. */
async function refusal(
  file: string,
  changed: Record<string, string> = {},
  words: string[] = [],
  input = '',
  isEmpty = true,
): Promise<string> {
  const { code, out, err } = await runHere(
    ['restore', file, ...words],
    { ...settings, ...changed },
    { input },
  )
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^[^\n]+\n$/)
  if (!isEmpty) return err
  const [left] = await target.query(
    `select count(*)::int as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where nspname in ('public', 'pgboss')`,
  )
  expect(left).toEqual({ tables: 0 })
  expect((await readdir(join(root, 'target')).catch(() => [])).filter(name => name !== 'hub.lock')).toEqual(
    [],
  )
  return err
}

async function damaged(change: (bytes: Buffer) => Buffer): Promise<string> {
  const file = join(root, 'damaged.backup')
  await writeFile(file, change(Buffer.from(bytes)))
  return file
}

it('refuses a backup that was cut, and one with a changed byte, wherever that is', async () => {
  const lengths = [0, 10, 100, bytes.length / 2, bytes.length - 33, bytes.length - 1]
  for (const length of lengths)
    expect(await refusal(await damaged(old => old.subarray(0, length)))).toMatch(/is damaged|is no backup/)
  expect(await refusal(await damaged(old => Buffer.concat([old, Buffer.of(0)])))).toContain('is damaged')
  const places = [
    0,
    14,
    20,
    ...Array.from({ length: 6 }, (_, i) => Math.floor((bytes.length * (i + 1)) / 7)),
    bytes.length - 1,
  ]
  for (const place of places)
    expect(
      await refusal(
        await damaged(old => {
          old[place]! ^= 0x10
          return old
        }),
      ),
    ).toMatch(/is damaged|is no backup|has the format/)
})

/** Writes a backup whose parts and header differ from those of the good one. */
function forged(
  header: Partial<BackupHeader>,
  change: (part: {
    header: PartHeader
    body: Buffer
  }) => { header: object; body: Buffer } | undefined = part => part,
): Promise<string> {
  return forgedBackup(good, root, part => [change(part)].filter(made => made !== undefined), header)
}

it('refuses a newer format, a newer release and rows that do not fit, in one line', async () => {
  const newer = await damaged(old => Buffer.concat([Buffer.from('muster-backup 2'), old.subarray(15)]))
  expect(await refusal(newer)).toContain(
    'has the format 2, and this hub reads up to 1: restore it with the release',
  )
  await using file = await BackupFile.open(good)
  const migrations = [...file.header.migrations, '9999_later.sql']
  expect(await refusal(await forged({ migrations }))).toBe(
    `The database comes from a newer hub: its migration 9999_later.sql is not known here. Use that release or a newer one.\n`,
  )
  const isDevice = (header: PartHeader): boolean => header.kind === 'table' && header.name === 'device'
  const withoutDevices = await forged({}, ({ header, body }) =>
    isDevice(header) ? undefined : { header, body },
  )
  expect(await refusal(withoutDevices)).toMatch(
    /PostgreSQL refused its rows: .* violates foreign key constraint/,
  )
  const halved = await forged({}, ({ header, body }) => ({
    header,
    body: isDevice(header) ? body.subarray(0, body.indexOf(10) + 1) : body,
  }))
  expect(await refusal(halved)).toBe('The backup is damaged: found 1 rows of the table device, expected 4.\n')
})

it('refuses parts that lead out of the target', async () => {
  const asset = (assetId: string) =>
    forged({ hasBlobs: true }, ({ header, body }) =>
      header.kind === 'jobs'
        ? { header: { kind: 'blob', assetId }, body: Buffer.from('x') }
        : { header, body },
    )
  for (const assetId of ['../../etc/passwd', '/etc/passwd', '..', 'a/b', 'a\\b', ''])
    expect(await refusal(await asset(assetId))).toContain('The backup has an invalid part')
  expect(await refusal(await asset('repo_a_unknown'))).toBe(
    'The backup has the file repo_a_unknown, which its database does not know.\n',
  )
  const table = (change: object) =>
    forged({}, ({ header, body }) => ({
      header: header.kind === 'table' && header.name === 'device' ? { ...header, ...change } : header,
      body,
    }))
  expect(await refusal(await table({ name: 'pg_class' }))).toBe(
    "Found the table pg_class, which is none of the hub's, expected the database of a hub.\n",
  )
  expect(
    await refusal(
      await table({ name: 'x', partition: { of: 'device_event', bounds: 'DEFAULT; drop table device' } }),
    ),
  ).toContain('The backup has an invalid part')
})

it('refuses a wrong, a damaged and a missing instance key before it writes', async () => {
  const wrong = '0'.repeat(64)
  expect(await refusal(good, { MUSTER_INSTANCE_KEY: wrong })).toBe(
    'The instance key of MUSTER_INSTANCE_KEY is not that of the backup: take the right one, or restore with --without-key.\n',
  )
  const { MUSTER_INSTANCE_KEY: _, ...withoutKey } = settings
  settings = withoutKey
  expect(await refusal(good)).toBe(
    'Instance key: found nothing, expected it at the prompt or in a file, with --key-file.\n',
  )
  expect(await refusal(good, {}, [], `${wrong}\n`)).toContain('The instance key of the given key is not that')
  const file = join(root, 'key')
  await writeFile(file, 'short\n')
  expect(await refusal(good, {}, ['--key-file', file])).toContain(
    'is damaged: expected 64 hexadecimal digits.',
  )
  settings.MUSTER_INSTANCE_KEY = FIXTURE_KEY
})

it('refuses a target that is not empty, has another encoding or too old a server', async () => {
  await using full = await scratchDatabase('muster')
  expect(await refusal(good, { MUSTER_DATABASE_URL: full.url })).toMatch(
    /^MUSTER_DATABASE_URL: found a database with \d+ tables, views and functions, such as \S+, expected an empty one\.\n$/,
  )
  await using foreign = await scratchDatabase()
  await foreign.query('create table somebody (x int)')
  expect(await refusal(good, { MUSTER_DATABASE_URL: foreign.url })).toContain(
    'such as somebody, expected an empty one',
  )
  expect(await foreign.query('select count(*)::int as n from somebody')).toEqual([{ n: 0 }])

  const name = new URL(target.url).pathname.slice(1)
  await target.query(`create database "${name}_latin" template template0 encoding 'LATIN1' locale 'C'`)
  expect(await refusal(good, { MUSTER_DATABASE_URL: `${target.url}_latin` })).toBe(
    'MUSTER_DATABASE_URL: found a database with the encoding LATIN1, expected one with UTF8.\n',
  )
  await target.query(`drop database "${name}_latin"`)

  // A function of this name, found first, stands for an old server.
  await using old = await scratchDatabase()
  await old.query(
    `create function current_setting(name text) returns text language sql as
       $$ select case name when 'server_version_num' then '140011' else pg_catalog.current_setting(name) end $$`,
  )
  const url = `${old.url}?options=${encodeURIComponent('-c search_path=public,pg_catalog')}`
  expect(await refusal(good, { MUSTER_DATABASE_URL: url })).toBe(
    'MUSTER_DATABASE_URL: found PostgreSQL 14, expected 15 or newer.\n',
  )
})

it('leaves a mark while it works: no hub starts on it, another command waits, and the next restore begins anew', async () => {
  const client = new pg.Client(target.connection)
  await client.connect()
  await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
  expect(await refusal(good)).toContain(
    'found a hub that starts or another command that works on the database',
  )
  await client.end()

  // A killed restore has left its marks, a part of pg-boss and a part of the files.
  await target.query('create table unfinished_copy (started_at timestamptz not null default now())')
  await target.query('create schema pgboss create table version (version int)')
  const config = loadConfig({ ...settings, MUSTER_PORT: '0' })
  await expect(createHub(config, createLog('silent'))).rejects.toThrow(
    'The database holds a restore or a move that was not finished: run that command again, which begins anew.',
  )
  const mark = join(root, 'target/unfinished-restore')
  await writeFile(mark, 'postgres\nblobs\n')
  await expect(createHub(config, createLog('silent'))).rejects.toThrow(
    /^MUSTER_DATA_DIR: found a restore in .* that was not finished/,
  )
  await writeFile(mark, 'blobs\n')
  expect(await done(['restore', good], settings)).toMatchObject({ release: VERSION })
  expect(existsSync(mark)).toBe(false)
  expect(await target.query('select count(*)::int as n from device')).toEqual([{ n: 4 }])

  // A restore that was killed after its commit is complete: nothing may be removed.
  await writeFile(mark, 'blobs\n')
  const file = join(root, 'target/blobs/3131/repo_a_11')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, 'x')
  expect(await refusal(await forged({ createdAt: new Date().toISOString() }), {}, [], '', false)).toContain(
    'expected an empty one',
  )
  expect(existsSync(mark)).toBe(true)
  const { MUSTER_INSTANCE_KEY: _, ...withoutKey } = settings
  await expect(
    createHub(loadConfig({ ...withoutKey, MUSTER_PORT: '0' }), createLog('silent')),
  ).rejects.toThrow(/^MUSTER_DATA_DIR: found a restore in .* that was not finished/)
  expect(existsSync(join(root, 'target/instance-key'))).toBe(false)
  expect((await runHere(['restore', good], settings)).out).toMatch(/^Finished the restore of the backup of /)
  expect(existsSync(mark)).toBe(false)
  expect(existsSync(file)).toBe(true)
  expect(await target.query('select count(*)::int as n from device')).toEqual([{ n: 4 }])
  expect(await target.query("select to_regclass('unfinished_copy') as mark")).toEqual([{ mark: null }])
})

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ScratchDatabase, scratchDatabase, smallDisk, testHub, until } from '@muster/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { MAIN } from '../../commands/testing/start-process.ts'
import { createHub } from '../../hub.ts'
import { loadConfig } from '../config/config.ts'
import { createLog } from '../runtime/log.ts'
import { contentsOf, done, FIXTURE_KEY, fixtureDatabase } from './testing/fixture-database.ts'

const OPERATING = join(import.meta.dirname, '../../../../../docs/operating.md')
const root = await mkdtemp(join(tmpdir(), 'muster-killed-'))
await chmod(root, 0o755)
let source: ScratchDatabase
let settings: Record<string, string>

beforeAll(async () => {
  source = await fixtureDatabase()
  await source.query("update cluster_node set last_heartbeat = now() - interval '1 hour'")
  // Enough rows that each command takes seconds.
  await source.query(
    `insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
     select 'd_x', 'e' || i, current_date, 'Info', 'test', to_json(repeat(md5(i::text), 8)), '{}', now()
       from generate_series(1, 60000) i`,
  )
  settings = { MUSTER_DATABASE_URL: source.url, MUSTER_INSTANCE_KEY: FIXTURE_KEY }
  await done(['backup', join(root, 'good'), '--no-verify'], settings)
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await rm(root, { recursive: true, force: true })
})

/**
 * Starts a program in a session of its own. A backup has the lowest priority, which Linux applies within a session: beside other tests it
 * would hardly run. If the program still runs when the test ends, it and its child processes are killed, because they may hold a lock that
 * the next test needs.
 */
function startAlone(program: string, words: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
  })
  return child
}

/** Starts a command of `muster-hub` and does not read its output. */
function start(words: string[], changed: Record<string, string> = {}): ChildProcess {
  const child = startAlone(process.execPath, [MAIN, ...words], { ...settings, ...changed })
  child.stdout!.resume()
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  expect(child.signalCode, 'the command ended before it was killed').toBe('SIGKILL')
}

async function hasDraft(name: string): Promise<boolean> {
  return (await readdir(root)).some(entry => entry.startsWith(`${name}.`) && entry.endsWith('.partial'))
}

async function hasTable(database: ScratchDatabase, name: string): Promise<boolean> {
  const [row] = await database.query(`select to_regclass('${name}') is not null as there`)
  return (row as { there: boolean }).there
}

it('leaves no file under its name when a backup is killed, and the next one works', async () => {
  const path = join(root, 'killed')
  const child = start(['backup', path, '--no-verify'])
  await until('the backup is written', () => hasDraft('killed'))
  await kill(child)
  expect(existsSync(path)).toBe(false)
  expect(await done(['backup', path, '--no-verify'], settings)).toMatchObject({ path })
  for (const name of await readdir(root)) if (name.endsWith('.partial')) await rm(join(root, name))
})

it('leaves a draft that no restore takes when a backup is killed during its trial', {
  timeout: 180_000,
}, async () => {
  const folder = join(root, 'trial')
  await mkdir(folder)
  const child = start(['backup', join(folder, 'file')])
  // The trial begins with a new server of PostgreSQL, which takes long on a busy machine.
  const hasBegun = async (): Promise<boolean> => {
    const names = await readdir(folder)
    // Only after the last row the session has no transaction.
    const idle = await source.query(
      "select from pg_stat_activity where application_name = 'muster copy' and state = 'idle'",
    )
    return names.some(name => name.endsWith('.partial')) && idle.length > 0
  }
  await until('the trial has begun', hasBegun, 90_000)
  await kill(child)
  const draft = (await readdir(folder)).find(name => name.endsWith('.partial'))!
  const renamed = join(folder, 'renamed')
  await rename(join(folder, draft), renamed)
  expect(await runHere(['restore', renamed], { ...settings, MUSTER_DATA_DIR: join(folder, 'data') })).toEqual(
    {
      code: 1,
      out: '',
      err: `${renamed} is damaged: it was cut, or bytes of it were changed. Take another backup.\n`,
    },
  )
  expect(await done(['backup', join(folder, 'file')], settings)).toMatchObject({ isVerified: true })
  expect((await readdir(folder)).toSorted()).toEqual(['file', 'renamed'])
})

it('leaves nothing when its trial restore fails', async () => {
  await using broken = await fixtureDatabase()
  // Only a superuser can leave such rows, or a damaged disk.
  await broken.query('set session_replication_role = replica; delete from device')
  const folder = join(root, 'refused')
  await mkdir(folder)
  const { code, out, err } = await runHere(['backup', join(folder, 'file')], {
    ...settings,
    MUSTER_DATABASE_URL: broken.url,
  })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(
    /^The rows cannot be stored: PostgreSQL refused its rows: [^\n]+ violates foreign key constraint [^\n]+\n$/,
  )
  expect(await readdir(folder)).toEqual([])
})

it('removes what it wrote when it is stopped, when its disk is full, and when its database goes away', async ({
  skip,
}) => {
  await using disk = await smallDisk(1)
  if (!disk) return skip('mounting a small disk needs root')
  const full = await runHere(['backup', join(disk.path, 'full'), '--no-verify'], settings)
  expect(full).toEqual({ code: 1, out: '', err: 'ENOSPC: no space left on device, write\n' })
  const tooSmall = await runHere(['backup', join(root, 'small'), '--verify-folder', disk.path], settings)
  expect(tooSmall.err).toMatch(
    /^Found 0\.0 GiB of free space in \S+, expected at least \d\.\d GiB: the backup is restored there on trial; [^\n]+\n$/,
  )
  for (const end of ['SIGTERM', 'terminate'] as const) {
    const path = join(root, end)
    const child = start(['backup', path, '--no-verify'])
    await until('the backup is written', () => hasDraft(end))
    if (end === 'SIGTERM') child.kill('SIGTERM')
    else
      await source.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'muster copy'",
      )
    expect(await once(child, 'exit')).toEqual([1, null])
  }
  expect(await readdir(disk.path)).toEqual([])
  expect((await readdir(root)).filter(name => /small|SIGTERM|terminate/.test(name))).toEqual([])
})

it('begins a killed restore into a database anew, and no hub starts before', async () => {
  await using target = await scratchDatabase()
  const changed = { MUSTER_DATABASE_URL: target.url, MUSTER_DATA_DIR: join(root, 'data-1') }
  const child = start(['restore', join(root, 'good')], changed)
  await until('the restore has marked its target', () => hasTable(target, 'unfinished_copy'))
  await kill(child)
  const config = loadConfig({ ...settings, ...changed, MUSTER_PORT: '0' })
  await expect(createHub(config, createLog('silent'))).rejects.toThrow('that was not finished')
  await done(['restore', join(root, 'good')], { ...settings, ...changed })
  expect((await contentsOf(target)).device_event_default).toBe(
    (await contentsOf(source)).device_event_default,
  )
  await using _hub = await testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })
})

it('lets one of two restores into a data folder through', async () => {
  await using first = await scratchDatabase()
  await using second = await scratchDatabase()
  const dataDir = join(root, 'data-twice')
  const mark = join(dataDir, 'unfinished-restore')
  const restoreInto = ({ url }: ScratchDatabase) =>
    start(['restore', join(root, 'good')], { MUSTER_DATABASE_URL: url, MUSTER_DATA_DIR: dataDir })
  const holder = restoreInto(first)
  const held = once(holder, 'exit')
  await until('the first restore has begun', async () => existsSync(mark))
  // If the first ended before the second began, both would succeed.
  holder.kill('SIGSTOP')
  try {
    const [refused] = await once(restoreInto(second), 'exit')
    expect(refused).toBe(1)
    expect(existsSync(mark)).toBe(true)
  } finally {
    holder.kill('SIGCONT')
  }
  const [code] = await held
  expect(code).toBe(0)
  expect(await Promise.all([first, second].map(database => hasTable(database, 'device')))).toEqual([
    true,
    false,
  ])
  expect(existsSync(mark)).toBe(false)
})

it('begins a killed restore into a data folder anew, and no hub starts before', {
  timeout: 180_000,
}, async () => {
  const dataDir = join(root, 'data-2')
  await mkdir(dataDir)
  const embedded = { MUSTER_INSTANCE_KEY: FIXTURE_KEY, MUSTER_DATA_DIR: dataDir }
  const child = spawn(process.execPath, [MAIN, 'restore', join(root, 'good')], {
    env: embedded,
    stdio: 'inherit',
  })
  await until('the database is made', async () => existsSync(join(dataDir, 'database.json')))
  await kill(child)
  await expect(createHub(loadConfig({ ...embedded, MUSTER_PORT: '0' }), createLog('silent'))).rejects.toThrow(
    'that was not finished',
  )
  await done(['restore', join(root, 'good')], embedded)
  const checked = await runHere(['doctor'], { ...embedded, MUSTER_PUBLIC_URL: 'http://192.0.2.1:9' })
  expect(checked.out).toMatch(
    /^warning {2}database: The embedded PostgreSQL is [\d.]+, .* It follows security releases late, and others reach this hub\.$/m,
  )
  await using target = await scratchDatabase()
  // A move of an embedded database.
  await done(['database', 'move', '--to', target.url], embedded)
  expect((await contentsOf(target)).device_event_default).toBe(
    (await contentsOf(source)).device_event_default,
  )
})

it('looks at the disk of the database where that is not the disk of the data folder', {
  timeout: 180_000,
}, async ({ skip }) => {
  await using dataDisk = await smallDisk(16)
  await using databaseDisk = await smallDisk(400)
  if (!dataDisk || !databaseDisk) return skip('mounting a small disk needs root')
  // The account of PostgreSQL may not enter the data folder, so the database is restored outside of it.
  const dataDir = join(dataDisk.path, 'closed')
  await mkdir(dataDir, { mode: 0o700 })
  const embedded = { MUSTER_INSTANCE_KEY: FIXTURE_KEY, MUSTER_DATA_DIR: dataDir }
  const record = join(dataDir, 'postgres/elsewhere')
  try {
    await done(['restore', join(root, 'good')], embedded)
    const found = (await readFile(record, 'utf8')).trim()
    expect(found).toMatch(/^\/var\/lib\/muster\//)
    const moved = join(databaseDisk.path, 'database')
    await cp(found, moved, { recursive: true, verbatimSymlinks: true })
    await rm(found, { recursive: true })
    await writeFile(record, `${moved}\n`)
    await writeFile(join(moved, 'owner'), `${record}\n`)
    const { bavail, bsize } = await statfs(databaseDisk.path)
    await writeFile(join(databaseDisk.path, 'filler'), Buffer.alloc(bavail * bsize - 16 * 1024 * 1024))
    const { err } = await runHere(['backup', join(databaseDisk.path, 'file'), '--no-verify'], embedded)
    expect(err).toMatch(
      /^Found 0\.0 GiB of free space in \S+, expected at least \d\.\d GiB: the backup is on the disk of the data folder, of the files or of the database, /,
    )
  } finally {
    const left = (await readFile(record, 'utf8').catch(() => '')).trim()
    if (left.startsWith('/var/lib/muster/')) await rm(left, { recursive: true })
  }
})

it('begins a killed move anew', async () => {
  await using target = await scratchDatabase()
  const words = ['database', 'move', '--to', target.url]
  const child = start(words)
  await until('the move has marked its target', () => hasTable(target, 'unfinished_copy'))
  await kill(child)
  await expect(testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })).rejects.toThrow(
    'that was not finished',
  )
  expect(await done(words, settings)).toMatchObject({ rowCount: expect.any(Number) })
  expect((await contentsOf(target)).device_event_default).toBe(
    (await contentsOf(source)).device_event_default,
  )
  await expect(testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY })).rejects.toThrow('was moved to')
})

it('runs the commands of docs/operating.md as they are written there', { timeout: 180_000 }, async () => {
  const text = await readFile(OPERATING, 'utf8')
  const chapter = text.slice(text.indexOf('\n## Backup and restore'), text.indexOf('\n## Audit log'))
  const lines = [...chapter.matchAll(/^(.*npx muster-hub (?:backup|restore|database) .*)$/gm)].map(
    ([, line]) => line!,
  )
  expect(lines).toHaveLength(4)
  await using stopped = await fixtureDatabase()
  await stopped.query("update cluster_node set last_heartbeat = now() - interval '1 hour'")
  // The file of the fixtures.
  const dataDir = join(root, 'data-docs')
  await mkdir(join(dataDir, 'blobs/6878'), { recursive: true })
  await writeFile(join(dataDir, 'blobs/6878/repo_a_8nDhz5C6grSMrptyYbHrhx'), 'abc')
  await using target = await scratchDatabase()
  const programs = join(root, 'bin')
  await mkdir(programs)
  await writeFile(join(programs, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${MAIN} "$@"\n`, {
    mode: 0o755,
  })
  const day = new Date().toISOString().slice(0, 10)
  const folders = ['backups', 'timer'].map(name => join(root, name))
  for (const folder of folders) await mkdir(folder)
  // Another account may write a folder that looks like a killed trial.
  const [foreign, planted] = [join(root, 'foreign'), join(folders[0]!, 'muster-verify-planted')]
  await mkdir(foreign)
  await mkdir(join(planted, 'postgres'), { recursive: true })
  await writeFile(join(planted, 'postgres/elsewhere'), `${foreign}\n`)
  for (const line of lines) {
    const folder = line.startsWith('MUSTER_BACKUP_DIR=') ? folders[1]! : folders[0]!
    const command = line
      .replace(/\/backups\b/g, folder)
      .replace('2026-11-26', day)
      .replace('/var/lib/muster-new', join(root, 'data-new'))
      .replace(/postgresql:\S+/, `'${target.url}'`)
    const env = {
      ...(!line.includes(' restore ') && { MUSTER_DATABASE_URL: stopped.url, MUSTER_DATA_DIR: dataDir }),
      MUSTER_INSTANCE_KEY: FIXTURE_KEY,
      TZ: 'UTC',
      PATH: `${programs}:/usr/bin:/bin`,
    }
    const child = startAlone('/bin/sh', ['-c', command], env)
    const ended = once(child, 'exit')
    const output = (await child.stdout!.toArray()).join('')
    expect(await ended, `${command}: ${output}`).toEqual([0, null])
    if (line.includes(' backup ')) expect(output).toContain('It was restored on trial.')
  }
  expect(await readdir(folders[0]!)).toEqual([`muster-${day}.backup`])
  expect(await readdir(folders[1]!)).toEqual([expect.stringMatching(`^muster-${day}T`), 'newest-good'])
  expect(existsSync(foreign)).toBe(true)
})

it('is dumped by pg_dump and restored by pg_restore', async ({ skip }) => {
  const bin = debianServer()
  if (bin === undefined) return skip('needs the package postgresql of Debian, and root')
  await using server = await startServer(bin)
  const [from, to] = ['from', 'to'].map(server.urlOf)
  const env = { ...settings, MUSTER_DATABASE_URL: from! }
  await done(['restore', join(root, 'good')], { ...env, MUSTER_DATA_DIR: join(root, 'data-dump') })
  const file = join(root, 'dump')
  execFileSync(join(bin, 'pg_dump'), ['-Fc', `--file=${file}`, from!])
  execFileSync(join(bin, 'pg_restore'), [`--dbname=${to}`, file])
  const counts = await Promise.all(
    [from!, to!].map(async url => {
      const client = new pg.Client(url)
      await client.connect()
      const { rows } = await client.query(
        'select (select count(*) from device_event) as events, (select count(*) from migration) as migrations',
      )
      await client.end()
      return rows
    }),
  )
  expect(counts[1]).toEqual(counts[0])
  await using _hub = await testHub({ databaseUrl: to!, instanceKey: FIXTURE_KEY })
})

/** Folder of the programs of Debian's newest PostgreSQL server; undefined without one, or if this process may not run it. */
function debianServer(): string | undefined {
  const place = '/usr/lib/postgresql'
  if (process.getuid?.() !== 0 || !existsSync(place)) return undefined
  return readdirSync(place)
    .toSorted((a, b) => Number(b) - Number(a))
    .map(major => join(place, major, 'bin'))
    .find(bin => ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].every(name => existsSync(join(bin, name))))
}

/** Starts a server with the databases `from` and `to` on a socket. */
async function startServer(bin: string): Promise<AsyncDisposable & { urlOf: (database: string) => string }> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-server-'))
  const as = (name: string, ...words: string[]): unknown =>
    execFileSync('runuser', ['-u', 'nobody', '--', join(bin, name), ...words], { cwd: '/', stdio: 'ignore' })
  execFileSync('chown', ['nobody', folder])
  const data = join(folder, 'data')
  as('initdb', '-D', data, '-U', 'muster', '-A', 'trust', '-E', 'UTF8', '--no-sync')
  as('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), '-o', `-h '' -k ${folder}`, 'start')
  for (const database of ['from', 'to']) as('createdb', '-h', folder, '-U', 'muster', database)
  return {
    urlOf: database => `postgresql://muster@${encodeURIComponent(folder)}/${database}`,
    async [Symbol.asyncDispose]() {
      as('pg_ctl', '-D', data, '-m', 'fast', 'stop')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

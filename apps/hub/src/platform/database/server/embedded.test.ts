import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capturedLog, until } from '@muster/testkit'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startEmbeddedDatabase } from './embedded.ts'
import { EmbeddedDatabaseError } from './embedded-home.ts'
import { migrate } from './migrate.ts'

const { log } = capturedLog()
const root = await mkdtemp(join(tmpdir(), 'muster-embedded-'))
await chmod(root, 0o755)
afterAll(() => rm(root, { recursive: true, force: true }))

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(root, 'data-'))
  await chmod(folder, 0o755)
  return folder
}

async function query(connection: pg.PoolConfig, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

describe('the embedded database', { timeout: 120_000 }, () => {
  it('forces commits to the disk, and lets the hub’s role read and write rows, but own and create nothing', async () => {
    await using database = await startEmbeddedDatabase(await newFolder(), log)
    const { owner, hub } = database.access
    await migrate(owner, log)
    await query(hub, 'select maintain_partitions(90)')
    const owned = await query(
      database.access.admin,
      `select r.rolname, r.rolsuper, r.rolcreatedb, r.rolcreaterole, r.rolbypassrls,
              exists (select from pg_shdepend where refobjid = r.oid and deptype = 'o') as owns
         from pg_roles r where r.rolname like 'muster%' order by 1`,
    )
    const plain = { rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolbypassrls: false }
    expect(owned).toEqual([
      { rolname: 'muster_hub', owns: false, ...plain },
      { rolname: 'muster_owner', owns: true, ...plain },
    ])
    await query(hub, `insert into organization (organization_id, name) values ('o', 'x')`)
    expect(await query(hub, 'update organization set name = name returning name')).toEqual([{ name: 'x' }])
    for (const forbidden of [
      'create table a ()',
      'alter table organization add column a int',
      'drop table organization',
      'truncate organization',
      'create schema a',
      `copy organization to program 'true'`,
      'create role a',
      'set role muster_owner',
    ])
      await expect(query(hub, forbidden), forbidden).rejects.toThrow(/permission denied|must be owner/)
    const durability = `select name, setting from pg_settings
      where name in ('fsync', 'synchronous_commit', 'full_page_writes') order by name`
    expect(await query(hub, durability)).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ])
  })

  it('listens only on a socket, which requires a password', async () => {
    await using database = await startEmbeddedDatabase(await newFolder(), log)
    const { admin, hub } = database.access
    expect(await query(admin, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
    for (const user of ['postgres', 'muster_owner', 'muster_hub'])
      await expect(query({ ...hub, user, password: 'wrong' }, 'select 1')).rejects.toThrow(
        'password authentication failed',
      )
    expect(hub.host).toMatch(/\/muster-\w{6}$/)
  })

  it('keeps data and passwords across a restart, with a new socket', async () => {
    const folder = await newFolder()
    const first = await startEmbeddedDatabase(folder, log)
    await query(first.access.owner, 'create table kept (a int); insert into kept values (7)')
    await first[Symbol.asyncDispose]()
    expect(existsSync(first.access.hub.host!)).toBe(false)
    await using second = await startEmbeddedDatabase(folder, log)
    expect(await query(second.access.owner, 'select a from kept')).toEqual([{ a: 7 }])
    expect(second.access.hub.host).not.toBe(first.access.hub.host)
  })

  it('stops while it is being restarted after a crash', async () => {
    const folder = await newFolder()
    const captured = capturedLog()
    const database = await startEmbeddedDatabase(folder, captured.log)
    const pidFile = join(folder, 'postgres/18/data/postmaster.pid')
    const pid = Number((await readFile(pidFile, 'utf8')).split('\n')[0])
    process.kill(pid, 'SIGKILL')
    await until(
      'the exit was logged',
      () => captured.named('the database server ended by itself; starting it again')[0],
    )
    await database[Symbol.asyncDispose]()
    // If the disposal above had left a server running, that server would hold the data folder, and this start would fail.
    await using again = await startEmbeddedDatabase(folder, log)
    expect(await query(again.access.hub, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('starts after a first start that was interrupted', async () => {
    const folder = await newFolder()
    const base = join(folder, 'postgres/18')
    await mkdir(join(base, 'data.init/base'), { recursive: true })
    await mkdir(join(base, 'runtime-18.4.0-beta.17.draft/bin'), { recursive: true })
    await writeFile(join(folder, 'database.json.draft'), '{')
    await writeFile(join(base, 'data.password'), 'left over')
    await using database = await startEmbeddedDatabase(folder, log)
    expect(await query(database.access.hub, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await readdir(base)).toSorted()).toEqual([
      'data',
      expect.stringMatching(/^runtime-[\w.-]+\d$/),
      'socket',
    ])
  })

  it('puts its socket into another temporary folder when the path of TMPDIR is too long', async () => {
    const long = join(root, 'x'.repeat(100))
    await mkdir(long, { mode: 0o755 })
    const before = process.env.TMPDIR
    process.env.TMPDIR = long
    try {
      await using database = await startEmbeddedDatabase(await newFolder(), log)
      expect(database.access.hub.host).toMatch(/^\/(var\/)?tmp\/muster-/)
      expect(await query(database.access.hub, 'select 1 as one')).toEqual([{ one: 1 }])
    } finally {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    }
  })

  it('starts on a copy of a running database without touching the original', async () => {
    const folder = await newFolder()
    await using database = await startEmbeddedDatabase(folder, log)
    await query(database.access.owner, 'create table kept ()')
    // The copy simulates a snapshot of the disk. `-a` keeps the owner, because PostgreSQL requires that its own account owns the files.
    const copy = await newFolder()
    spawnSync('cp', ['-a', `${folder}/.`, copy])
    await using second = await startEmbeddedDatabase(copy, log)
    expect(await query(second.access.owner, 'select from kept')).toEqual([])
    await query(second.access.owner, 'drop table kept')
    expect(await query(database.access.owner, 'select from kept')).toEqual([])
  })

  it.runIf(process.getuid?.() === 0)('takes ownership of the files of another account', async () => {
    const folder = await newFolder()
    const data = join(folder, 'postgres/18/data')
    await (await startEmbeddedDatabase(folder, log))[Symbol.asyncDispose]()
    const { uid } = await stat(data)
    // Simulates files of another account, as after a change of accounts or a copy from another machine.
    for (const name of ['', ...(await readdir(data, { recursive: true }))])
      await chown(join(data, name), 0, 0)
    await using again = await startEmbeddedDatabase(folder, log)
    expect(await query(again.access.admin, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await stat(data)).uid).toBe(uid)
  })

  it('refuses to start when the file with its passwords is missing', async () => {
    const folder = await newFolder()
    await (await startEmbeddedDatabase(folder, log))[Symbol.asyncDispose]()
    await rename(join(folder, 'database.json'), join(folder, 'database.json.kept'))
    await expect(startEmbeddedDatabase(folder, log)).rejects.toEqual(
      new EmbeddedDatabaseError(
        `${folder}/database.json is missing, but it holds the passwords of the database in ${folder}/postgres/18: restore it.`,
      ),
    )
    await rename(join(folder, 'database.json.kept'), join(folder, 'database.json'))
    await using database = await startEmbeddedDatabase(folder, log)
    expect(await query(database.access.hub, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('reports a damaged file of passwords', async () => {
    const folder = await newFolder()
    await writeFile(join(folder, 'database.json'), '')
    await expect(startEmbeddedDatabase(folder, log)).rejects.toEqual(
      new EmbeddedDatabaseError(
        `${folder}/database.json cannot be read (Unexpected end of JSON input): restore it.`,
      ),
    )
  })

  it.runIf(process.platform === 'linux')(
    'starts after a power failure although another process has the id in the lock file',
    async () => {
      const folder = await newFolder()
      const before = await startEmbeddedDatabase(folder, log)
      await query(before.access.owner, 'create table kept ()')
      const file = join(folder, 'postgres/18/data/postmaster.pid')
      const lock = await readFile(file, 'utf8')
      await before[Symbol.asyncDispose]()
      // `sleep` is the other process with the id in the lock file. It runs under the server's account, because PostgreSQL considers
      // a lock of another account's process stale.
      const { uid } = await stat(join(folder, 'postgres/18/data'))
      const other = spawn('sleep', ['600'], { uid, cwd: '/', stdio: 'ignore' })
      await writeFile(file, lock.replace(/^\d+/, String(other.pid)))
      await chown(file, uid, uid)
      try {
        await using database = await startEmbeddedDatabase(folder, log)
        expect(await query(database.access.owner, 'select from kept')).toEqual([])
        expect(other.exitCode).toBeNull()
      } finally {
        other.kill()
      }
    },
  )

  it('starts with an empty lock file', async () => {
    const folder = await newFolder()
    const before = await startEmbeddedDatabase(folder, log)
    await query(before.access.owner, 'create table kept ()')
    await before[Symbol.asyncDispose]()
    await writeFile(join(folder, 'postgres/18/data/postmaster.pid'), '')
    await using database = await startEmbeddedDatabase(folder, log)
    expect(await query(database.access.owner, 'select from kept')).toEqual([])
  })

  it('refuses to start beside the data of another major version', async () => {
    const folder = await newFolder()
    await mkdir(join(folder, 'postgres/17/data'), { recursive: true })
    await writeFile(join(folder, 'postgres/17/data/PG_VERSION'), '17\n')
    await expect(startEmbeddedDatabase(folder, log)).rejects.toThrow(
      `The database in ${folder}/postgres/17 is of PostgreSQL 17, and this hub has PostgreSQL 18`,
    )
  })

  it('reports in one line the output of a server that cannot start', async () => {
    const folder = await newFolder()
    await (await startEmbeddedDatabase(folder, log))[Symbol.asyncDispose]()
    await writeFile(
      join(folder, 'postgres/18/data/postgresql.auto.conf'),
      'shared_buffers = lots\nwork_mem = much\n',
    )
    const error: unknown = await startEmbeddedDatabase(folder, log).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(EmbeddedDatabaseError)
    expect(String(error)).toMatch(
      /^EmbeddedDatabaseError: PostgreSQL ended with 1: [^\n]*shared_buffers[^\n]*$/,
    )
  })
})

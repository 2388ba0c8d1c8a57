// Tests of hub starts that take many seconds each. Shorter tests are in `hub-start.test.ts`.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { chown, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { createLog } from '@muster/hub/log'
import { smallDisk, until } from '@muster/testkit'
import { connectDevice } from '@muster/testkit/device'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { copyFirstStart } from './copied-start.ts'
import { complaint } from './ended-hub.ts'
import {
  adminOf,
  databaseHome,
  databaseOf,
  firstToken,
  newFolder,
  signedIn,
  spawnHub,
  startedHub,
} from './hub-child.ts'

const MIB = 1024 * 1024
const isRoot = process.getuid?.() === 0

describe('the first start', () => {
  it('that is interrupted does not block the next start', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    for (const [signal, after] of [
      ['SIGKILL', 'data.init'],
      ['SIGTERM', 'data'],
      ['SIGKILL', 'data/postmaster.pid'],
    ] as const) {
      const hub = await spawnHub({ dataDir })
      await until(`${after} exists`, async () => existsSync(join(await databaseHome(dataDir), after)), 30_000)
      hub.kill(signal)
      await hub.exited
    }
    await using hub = await startedHub({ dataDir })
    await signedIn(hub)
  })
})

describe('a start fails with one line', () => {
  it("if its address is not this machine's", async () => {
    await using folder = await newFolder()
    const env = { MUSTER_HOST: '203.0.113.1' }
    expect(await complaint({ dataDir: join(folder.path, 'data'), env })).toMatch(
      /^MUSTER_HOST: found 203\.0\.113\.1 \(EADDRNOTAVAIL\), expected an address or a name of this machine\.$/,
    )
  })

  it('if its data folder is not writable', async () => {
    await using folder = await newFolder()
    await writeFile(join(folder.path, 'file'), '')
    for (const dataDir of ['/proc/muster', join(folder.path, 'file'), join(folder.path, 'file/data')])
      expect(await complaint({ dataDir })).toMatch(
        new RegExp(
          `^MUSTER_DATA_DIR: found ${dataDir} \\(E\\w+\\), expected a folder that can be written\\.$`,
        ),
      )
  })

  it.runIf(isRoot)('if its data folder belongs to another account', async () => {
    await using folder = await newFolder()
    const account = { uid: 65534, gid: 65534 }
    expect(await complaint({ dataDir: join(folder.path, 'data'), account })).toMatch(
      /^MUSTER_DATA_DIR: found .*\/data \(EACCES\), expected a folder that can be written\.$/,
    )
  })

  it('if the disk is full', async context => {
    await using disk = await smallDisk(40)
    if (!disk) return context.skip('needs the right to mount a file system')
    const dataDir = join(disk.path, 'data')
    // The disk is too small for the PostgreSQL programs.
    expect(await complaint({ dataDir })).toMatch(/^ENOSPC: no space left on device, copyfile .*$/)
    await writeFile(join(disk.path, 'filler'), Buffer.alloc(64 * MIB)).catch(() => {})
    expect(await complaint({ dataDir })).toBe('ENOSPC: no space left on device, write')
    expect(await readdir(dataDir)).toEqual(['instance-key', 'postgres'])
  })

  it('if another hub uses its data folder', async () => {
    await using folder = await newFolder()
    const dataDir = await copyFirstStart(folder)
    await using hub = await startedHub({ dataDir })
    expect(await complaint({ dataDir })).toBe(
      `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${hub.pid}, expected a folder of this hub's own.`,
    )
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200)
    await using _database = await databaseOf(dataDir)
  })

  it('if an option is unknown', async () => {
    await using folder = await newFolder()
    const line = await complaint({ dataDir: join(folder.path, 'data'), options: ['--dmo'] }, 2)
    expect(line).toBe("unknown option '--dmo'. See muster-hub --help")
  })

  it.runIf(isRoot)('O2: if an earlier start as root gave the database to another account', async () => {
    await using folder = await newFolder()
    // Uses the account `daemon`, because PostgreSQL needs a user id that has a name.
    const account = { uid: 1, gid: 1 }
    const dataDir = join(folder.path, 'data')
    await mkdir(dataDir)
    await chown(dataDir, account.uid, account.gid)
    const own = await startedHub({ dataDir, account })
    const admin = await adminOf(dataDir)
    await own[Symbol.asyncDispose]()
    const asRoot = await startedHub({ dataDir })
    await asRoot[Symbol.asyncDispose]()
    const home = await databaseHome(dataDir)
    const before = await readdir(home)
    const { uid } = statSync(join(home, 'data'))
    expect(await complaint({ dataDir, account })).toBe(
      `${home}/data/PG_VERSION belongs to another account (user id ${uid}, the hub runs as 1): start the hub under the account that started it last (with sudo, if that was used), or give its files to this one: sudo chown -R 1 ${dataDir}`,
    )
    expect(await readdir(home)).toEqual(before)
    // Runs the command that the error message suggests. The hub then starts.
    spawnSync('chown', ['-R', '1', dataDir])
    await using again = await startedHub({ dataDir, account })
    expect(await adminOf(dataDir)).toEqual(admin)
    await signedIn(again)
  })

  it('in all but one of four hubs that start at once with the same data folder', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hubs = await Promise.all(Array.from({ length: 4 }, () => spawnHub({ dataDir })))
    const over = await Promise.all(
      hubs.map(hub => Promise.race([hub.exited, hub.ready().then(() => undefined)]).catch(() => hub.exited)),
    )
    expect(over.filter(end => end === undefined)).toHaveLength(1)
    expect(over.filter(end => end?.code === 1)).toHaveLength(3)
    for (const [index, hub] of hubs.entries())
      if (over[index]) expect(hub.stderr()).toContain('in use by the hub')
    await Promise.all(hubs.map(hub => hub[Symbol.asyncDispose]()))
  })

  it.each([
    [
      'MUSTER_LOG_LEVEL',
      'loud',
      'MUSTER_LOG_LEVEL: found "loud", expected one of trace, debug, info, warn, error, silent.',
    ],
    [
      'MUSTER_PUBLIC_URL',
      'hub.example',
      'MUSTER_PUBLIC_URL: found "hub.example", expected an http:// or https:// URL without a path.',
    ],
    [
      'MUSTER_DATABASE_URL',
      'mysql://x',
      'MUSTER_DATABASE_URL: found a value that is not shown, expected a postgresql:// URL.',
    ],
  ])('if a setting is invalid: %s=%s', async (name, value, line) => {
    await using folder = await newFolder()
    expect(await complaint({ dataDir: join(folder.path, 'data'), env: { [name]: value } })).toBe(line)
    expect(existsSync(join(folder.path, 'data'))).toBe(false)
  })

  it.each([['serve'], ['--demo=1'], ['-d']])('if an option is unknown: %s', async option => {
    await using folder = await newFolder()
    const line = await complaint({ dataDir: join(folder.path, 'data'), options: [option] }, 2)
    expect(line).toContain(option.replace('=1', ''))
    expect(line).not.toContain('    at ')
  })
})

describe('an external PostgreSQL', () => {
  it('gets the same schema and serves several hubs that start at the same moment', async () => {
    await using folder = await newFolder()
    const base = join(folder.path, 'other')
    await mkdir(base, { mode: 0o755 })
    await using other = await startEmbeddedDatabase(base, createLog('error'))
    const { host, user, password, database } = other.access.owner as Record<string, string>
    const login = `${user}:${password}@${encodeURIComponent(host!)}`
    const env = {
      MUSTER_DATABASE_URL: `postgresql://${login}/${database}`,
      MUSTER_INSTANCE_KEY: 'ab'.repeat(32),
      MUSTER_DRAIN_SECS: '0',
    }

    const files = join(folder.path, 'files')
    await mkdir(files)
    const hubs = await Promise.all(
      ['a', 'b', 'c'].map(async name => {
        const dataDir = join(folder.path, name)
        await mkdir(dataDir)
        await symlink(files, join(dataDir, 'blobs'))
        return spawnHub({ dataDir, env: { ...env, MUSTER_NODE_NAME: name } })
      }),
    )
    await Promise.all(hubs.map(hub => hub.ready()))
    const first = hubs.filter(({ dataDir }) => existsSync(join(dataDir, 'initial-admin.json')))
    expect(first).toHaveLength(1)
    expect(hubs.map(hub => hub.logged('migrated').length).toSorted()).toEqual([0, 0, expect.any(Number)])
    for (const { dataDir, stdout } of hubs) {
      expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
      const hasFile = existsSync(join(dataDir, 'initial-admin.json'))
      expect(stdout().includes('initial-admin.json')).toBe(hasFile)
    }
    const token = firstToken(first[0]!)
    await using device = await connectDevice({ url: hubs[2]!.url, token })
    const { deviceId } = device
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    const invoke = await signedIn(first[0]!)
    expect(await invoke('devices_GetDetails', { deviceId })).toMatchObject({
      isConnected: true,
      connections: [{ nodeName: 'c' }],
    })

    const otherHub = await spawnHub({
      dataDir: join(folder.path, 'e'),
      env: { ...env, MUSTER_INSTANCE_KEY: '' },
    })
    expect((await otherHub.exited).code).toBe(1)
    expect(otherHub.stderr()).toBe(
      'MUSTER_INSTANCE_KEY: found another key than the running nodes have, expected the same one on every node.\n',
    )
    await Promise.all(hubs.map(hub => hub[Symbol.asyncDispose]()))
    const changed = { ...env, MUSTER_INSTANCE_KEY: 'cd'.repeat(32) }
    await (await startedHub({ dataDir: join(folder.path, 'a'), env: changed }))[Symbol.asyncDispose]()

    const wrong = `postgresql://${user}:wrong@${encodeURIComponent(host!)}`
    for (const [url, why] of [
      [`${wrong}/${database}`, 'password authentication failed'],
      [`postgresql://${login}/nothing`, 'database "nothing" does not exist'],
      [`postgresql://${user}@${encodeURIComponent(host!)}/${database}`, 'password'],
      [
        `postgresql://muster_hub:${(other.access.hub as { password: string }).password}@${encodeURIComponent(host!)}/${database}`,
        "tables are another user's",
      ],
    ] as const) {
      const hub = await spawnHub({ dataDir: join(folder.path, 'd'), env: { MUSTER_DATABASE_URL: url } })
      expect((await hub.exited).code).toBe(1)
      const lines = hub.stderr().trim().split('\n')
      expect(lines).toEqual([expect.stringMatching(/^MUSTER_DATABASE_URL: found .*, expected /)])
      expect(lines[0]).toContain(why)
      expect(lines[0]).not.toContain(password!)
    }
  })

  it('that a newer node has changed meanwhile ends a hub that was taken for dead, in one line', async () => {
    await using folder = await newFolder()
    await using other = await startEmbeddedDatabase(folder.path, createLog('error'))
    const { host, user, password, database } = other.access.owner as Record<string, string>
    const url = `postgresql://${user}:${password}@${encodeURIComponent(host!)}/${database}`
    await using hub = await startedHub({
      dataDir: join(folder.path, 'hub'),
      env: { MUSTER_DATABASE_URL: url },
    })
    const client = new pg.Client(other.access.owner)
    await client.connect()
    await client.query(`
      insert into migration (name, checksum, oldest_release) values ('9999_contract.sql', 'x', null);
      update cluster_node set left_at = now(), evicted_at = now();
      alter table cluster_node drop column clock_ahead_ms`)
    await client.end()
    expect(await hub.exited).toEqual({ code: 1, signal: null })
    const lines = hub
      .stderr()
      .trim()
      .split('\n')
      .filter(line => !line.startsWith('{'))
    expect(lines).toEqual([
      'The database was migrated by a newer hub: 9999_contract.sql is not known here, and it suits newer releases only.',
    ])
  })
})

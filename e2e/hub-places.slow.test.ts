// Tests of hubs that take many seconds each but measure no time, so another test file may run at the same time. Tests that measure time
// are in `hub-lifecycle.slow.test.ts`.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { chmod, chown, cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import type { Invoke } from '@muster/actions'
import { until } from '@muster/testkit'
import { connectDevice } from '@muster/testkit/device'
import { describe, expect, it } from 'vitest'
import { copyFirstStart } from './copied-start.ts'
import { expectNothingLeft, socketDirOf } from './ended-hub.ts'
import {
  accountOf,
  adminOf,
  databaseHome,
  databaseProcesses,
  descendantsOf,
  firstToken,
  type HubChild,
  MAIN,
  newFolder,
  signalNow,
  signedIn,
  spawnHub,
  startedHub,
} from './hub-child.ts'

const isRoot = process.getuid?.() === 0

it('a hub that is stopped does not wait for a database that does not react to signals', {
  timeout: 120_000,
}, async () => {
  await using folder = await newFolder()
  const dataDir = await copyFirstStart(folder)
  const hub = await startedHub({ dataDir })
  const invoke = await signedIn(hub)
  const { server } = await databaseProcesses(dataDir)
  const all = [...server, ...descendantsOf(server[0]!)]
  for (const pid of all) signalNow(pid, 'SIGSTOP')
  try {
    const inFlight = invoke('projects_Query', {}).catch(() => 'lost')
    hub.kill('SIGTERM')
    const end = await Promise.race([hub.exited, passing(80_000)])
    expect(end).toEqual({ code: 0, signal: null })
    expect(await inFlight).toBe('lost')
  } finally {
    hub.kill('SIGKILL')
    for (const pid of all) signalNow(pid, 'SIGCONT')
  }
  await until(
    'the database server has ended',
    async () => (await databaseProcesses(dataDir)).server.length === 0,
  )
})

describe('--demo', () => {
  it('starts its fleet again after its organization was deleted', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const options = ['--demo']
    const withFleet = async (hub: HubChild): Promise<Invoke> => {
      const invoke = await signedIn(hub)
      await until(
        'devices have connected',
        async () => (await invoke('instance_GetStatistics', {})).devices > 0,
      )
      return invoke
    }
    const hub = await startedHub({ dataDir, options })
    const invoke = await withFleet(hub)
    const { organizations } = await invoke('organizations_Query', {})
    const { organizationId } = organizations.find(({ name }) => name === 'Demo')!
    await invoke('organizations_Delete', { organizationId })
    await hub[Symbol.asyncDispose]()
    await using again = await startedHub({ dataDir, options })
    await withFleet(again)
  })

  it('logs why its fleet did not start', async () => {
    await using folder = await newFolder()
    // Agents refuse plain HTTP to another machine, because it would expose their credentials.
    const env = { MUSTER_PUBLIC_URL: 'http://192.0.2.7' }
    await using hub = await startedHub({ dataDir: join(folder.path, 'data'), options: ['--demo'], env })
    await until('the reason is logged', () => hub.logged('the simulated fleet ended').length > 0)
    expect(hub.logged('the simulated fleet ended')).toMatchObject([
      { level: 'warn', code: 1, problem: expect.stringContaining('expected https://') },
    ])
  })
})

describe.runIf(isRoot)('as root', () => {
  it('runs the database under an account without privileges', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await using hub = await startedHub({ dataDir })
    const { server, shells } = await databaseProcesses(dataDir)
    for (const pid of [...server, ...shells, ...descendantsOf(server[0]!)]) expect(accountOf(pid)).not.toBe(0)
    expect(accountOf(hub.pid)).toBe(0)
    const socket = statSync(await socketDirOf(dataDir))
    expect([socket.mode & 0o777, socket.uid]).toEqual([0o700, accountOf(server[0]!)])
    expect(hub.stderr()).not.toContain('/var/lib/muster')
  })

  it('stores the database where its account has access, and finds it again when permissions change', async () => {
    await using folder = await newFolder()
    const closed = join(folder.path, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const dataDir = join(closed, 'data')
    const first = await startedHub({ dataDir })
    const [line] = first
      .stderr()
      .split('\n')
      .filter(text => text.includes('/var/lib/muster/'))
    expect(line).toContain('cannot enter')
    const home = await databaseHome(dataDir)
    expect(home).toMatch(/^\/var\/lib\/muster\/[0-9a-f]{16}\/18$/)
    try {
      const admin = await adminOf(dataDir)
      await first[Symbol.asyncDispose]()
      // Goal O10 (docs/goals.md): when the data folder is missing, `doctor` names the remaining database and what removes it.
      const doctor = () => spawnSync(process.execPath, [MAIN, 'doctor'], { encoding: 'utf8' }).stdout
      expect(doctor()).not.toContain(dirname(home))
      await rename(dataDir, `${dataDir}.gone`)
      const found = doctor()
      expect(found).toContain(
        `Nothing leads any more to the database in ${dirname(home)} of the data folder ${dataDir}, last started on `,
      )
      expect(found).toContain(`muster-hub gc --delete-database ${dirname(home)}\n`)
      await rename(`${dataDir}.gone`, dataDir)
      await chmod(closed, 0o755)
      await using second = await startedHub({ dataDir })
      expect(second.stdout()).not.toContain('--token')
      expect(await adminOf(dataDir)).toEqual(admin)
      expect(await databaseHome(dataDir)).toBe(home)
      await signedIn(second)
      await second[Symbol.asyncDispose]()

      // A copy of the data folder refers to the same database. A hub must not start on the copy while the original hub runs.
      const copy = join(closed, 'copy')
      const running = await startedHub({ dataDir })
      await cp(dataDir, copy, { recursive: true, filter: path => !path.endsWith('hub.lock') })
      const complaint = `The database in ${dirname(home)} is that of the data folder ${dataDir}, and this folder a copy: `
      const beside = await spawnHub({ dataDir: copy })
      expect((await beside.exited).code).toBe(1)
      expect(beside.stderr()).toContain(complaint)
      expect(existsSync(await socketDirOf(dataDir))).toBe(true)
      await signedIn(running)
      await running[Symbol.asyncDispose]()
      // A hub on the copied data folder does not start with the original's database, even after the original hub has stopped.
      // It starts once the database is copied too.
      const instead = await spawnHub({ dataDir: copy })
      expect((await instead.exited).code).toBe(1)
      const copiedFiles = `${dirname(home)}.copy`
      await cp(dirname(home), copiedFiles, { recursive: true })
      await writeFile(join(copy, 'postgres/elsewhere'), `${copiedFiles}\n`)
      await using copied = await startedHub({ dataDir: copy })
      expect(await databaseHome(copy)).toBe(join(copiedFiles, '18'))
      await signedIn(copied)

      // A data folder may be moved. A new data folder at the old path gets a new database and does not use the database of the
      // moved folder.
      const moved = join(closed, 'moved')
      await rename(dataDir, moved)
      const mover = await startedHub({ dataDir: moved })
      await chmod(closed, 0o700)
      const third = await startedHub({ dataDir })
      expect(
        third.logged('found the database of an earlier data folder with this path; using a new one'),
      ).toHaveLength(1)
      expect(await adminOf(dataDir)).not.toEqual(admin)
      await mover[Symbol.asyncDispose]()
      await signedIn(third)
      await third[Symbol.asyncDispose]()
      for (const folder of [moved, dataDir]) {
        await using again = await startedHub({ dataDir: folder })
        await signedIn(again)
      }
    } finally {
      const place = dirname(home)
      for (const name of await readdir(dirname(place)))
        if (name.startsWith(basename(place))) await rm(join(place, '..', name), { recursive: true })
    }
    // If the database files are missing, the hub fails instead of creating a new database.
    const hub = await spawnHub({ dataDir })
    expect((await hub.exited).code).toBe(1)
    expect(hub.stderr()).toMatch(/^The files of the database are not in \/var\/lib\/muster\/.*\n$/)
  })

  it('gives that account access to the database whatever the umask is', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await startedHub({ dataDir, shell: 'umask 077' })
    const home = dirname(await databaseHome(dataDir))
    try {
      expect(home).toMatch(/^\/var\/lib\/muster\//)
      await signedIn(hub)
      await hub[Symbol.asyncDispose]()
      expect(statSync(join(dataDir, 'database.json')).mode & 0o777).toBe(0o600)
    } finally {
      await hub[Symbol.asyncDispose]()
      await rm(home, { recursive: true })
    }
  })

  it('fails instead of creating a new database when its account loses access', async () => {
    await using folder = await newFolder()
    const parent = join(folder.path, 'parent')
    await mkdir(parent, { mode: 0o755 })
    const dataDir = join(parent, 'data')
    await (await startedHub({ dataDir }))[Symbol.asyncDispose]()
    await chmod(parent, 0o700)
    const hub = await spawnHub({ dataDir })
    expect((await hub.exited).code).toBe(1)
    expect(hub.stderr()).toMatch(/^The account \w+ cannot enter .*\n$/)
    await chmod(parent, 0o755)
    await using again = await startedHub({ dataDir })
    expect(again.stdout()).not.toContain('--token')
  })

  const mayRead =
    spawnSync(process.execPath, ['--version'], { uid: 65534, gid: 65534, stdio: 'ignore' }).status === 0

  it.runIf(mayRead)('can also be started as an ordinary user', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await mkdir(dataDir)
    await chown(dataDir, 65534, 65534)
    const account = { uid: 65534, gid: 65534 }
    const hub = await startedHub({ dataDir, account })
    expect(accountOf(hub.pid)).toBe(65534)
    const { server } = await databaseProcesses(dataDir)
    expect(accountOf(server[0]!)).toBe(65534)
    await using device = await connectDevice({ url: hub.url, token: firstToken(hub) })
    expect(device.deviceId).toMatch(/^d_/)
    const socketDir = await socketDirOf(dataDir)
    hub.kill('SIGINT')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    await expectNothingLeft(dataDir, socketDir)
    await using again = await startedHub({ dataDir, account })
    await signedIn(again)
  })
})

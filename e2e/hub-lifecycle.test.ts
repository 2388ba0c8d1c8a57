import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, cp, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { type Invoke, newDatedId, newId } from '@muster/actions'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { createLog } from '@muster/hub/log'
import { freePort, smallDisk, until } from '@muster/testkit'
import { connectDevice, type FakeDevice } from '@muster/testkit/device'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  accountOf,
  adminOf,
  databaseHome,
  databaseOf,
  databaseProcesses,
  descendantsOf,
  type HubChild,
  type HubChildOptions,
  newFolder,
  printedToken,
  proportionalBytes,
  sessionOf,
  signedIn,
  spawnHub,
  startedHub,
} from './hub-child.ts'

const MIB = 1024 * 1024
const isRoot = process.getuid?.() === 0

/** What must not be left when a hub is over. */
async function expectNothingLeft(dataDir: string, socketDir: string): Promise<void> {
  await until('the database server is gone', async () => {
    const { server, shells } = await databaseProcesses(dataDir)
    return server.length === 0 && shells.length === 0
  })
  expect(existsSync(socketDir)).toBe(false)
  expect(existsSync(join(dataDir, 'hub.lock'))).toBe(false)
  expect(existsSync(join(await databaseHome(dataDir), 'data/postmaster.pid'))).toBe(false)
}

async function socketDirOf(dataDir: string): Promise<string> {
  return readFile(join(await databaseHome(dataDir), 'socket'), 'utf8')
}

/** A command that is under way: its audit row is committed, its change waits for a lock that the session has. */
async function waitingCommand(dataDir: string, invoke: Invoke) {
  const { projects } = await invoke('projects_Query', {})
  const { projectId } = projects[0]!
  const session = await databaseOf(dataDir)
  await session.query('begin')
  await session.query('select from project for update')
  const outcome = invoke('projects_SetName', { projectId, name: 'Never' }).catch(() => 'lost')
  await until('the command waits', async () => {
    await session.query('select pg_stat_clear_snapshot()')
    const { rows } = await session.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)
    return rows.length > 0
  })
  return { projectId, session, outcome }
}

/** A device that sends events one after the other and keeps the ids of those that were acknowledged. */
class Ledger {
  readonly acknowledged: string[] = []
  readonly device: FakeDevice
  readonly #ended: Promise<void>
  #isStopped = false

  constructor(device: FakeDevice) {
    this.device = device
    this.#ended = this.#run()
  }

  async #run(): Promise<void> {
    const { deviceId } = this.device
    while (!this.#isStopped && this.device.link.isOpen) {
      const eventId = newDatedId('d_ev')
      const event = {
        eventId,
        severity: 'Info',
        body: 1,
        attributes: {},
        emittedAt: new Date().toISOString(),
      }
      try {
        await this.device.invoke('devices_PublishEvents', { deviceId, events: [event] })
        this.acknowledged.push(eventId)
      } catch {
        return
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#ended
  }
}

async function ledgers(hub: HubChild, token: string, count: number): Promise<Ledger[]> {
  const devices = await Promise.all(
    Array.from({ length: count }, () => connectDevice({ url: hub.url, token })),
  )
  const all = devices.map(device => new Ledger(device))
  await until('events are acknowledged', () => all.every(({ acknowledged }) => acknowledged.length > 20))
  return all
}

async function expectAllStored(dataDir: string, all: Ledger[]): Promise<number> {
  await using database = await databaseOf(dataDir)
  const { rows } = await database.query<{ event_id: string }>('select event_id from device_event')
  const stored = new Set(rows.map(row => row.event_id))
  const acknowledged = all.flatMap(ledger => ledger.acknowledged)
  expect(acknowledged.filter(eventId => !stored.has(eventId))).toEqual([])
  expect(stored.size).toBe(rows.length)
  return acknowledged.length
}

describe('the first start', () => {
  it('says where the hub is and how to go on, keeps the sign-in in a file, and the second start is fast', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await spawnHub({ dataDir })
    // It is alive before it is ready, and says that it is not ready.
    const seen = new Set<string>()
    await until(
      'it is ready',
      async () => {
        const statusOf = (path: string, method = 'GET'): Promise<number | undefined> =>
          fetch(`${hub.url}/${path}`, { method }).then(
            answer => answer.status,
            () => undefined,
          )
        // One after the other: what is said to be ready is so for who asks then.
        const health = await statusOf('healthz')
        const ready = await statusOf('readyz')
        const action = await statusOf('api/v1/actions/invoke/actor_GetActor', 'POST')
        seen.add(`${health} ${ready} ${action}`)
        return ready === 200
      },
      60_000,
    )
    const firstMs = performance.now() - hub.startedAt
    expect([...seen]).toContain('200 503 503')
    expect([...seen].filter(answers => /^(\d+|undefined) 200/.test(answers))).toEqual(['200 200 200'])
    await hub.ready()

    const stdout = hub.stdout()
    expect(stdout).toContain(
      `Muster is running at http://localhost:${hub.port} (listening on 127.0.0.1:${hub.port})`,
    )
    const token = printedToken(hub)
    const agent = `npm run agent -- %s --hub http://localhost:${hub.port} --token ${token}`
    expect(stdout).toContain(`\n  ${agent.replace('%s', 'run')}\n`)
    expect(stdout).toContain(`\n  ${agent.replace('%s', 'simulate')} --count 10\n`)
    const file = join(dataDir, 'initial-admin.json')
    expect(stdout).toContain(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'database.json')).mode & 0o777).toBe(0o600)
    const admin = await adminOf(dataDir)
    expect(Object.keys(admin)).toEqual(['url', 'email', 'password'])
    expect(admin.url).toBe(`http://localhost:${hub.port}`)
    expect(admin.password).toMatch(/^(\w{4}-){3}\w{4}$/)
    expect(stdout + hub.stderr()).not.toContain(admin.password)

    // What was printed works as it is.
    const device = await connectDevice({ url: hub.url, token })
    const invoke = await signedIn(hub)
    const { organizations } = await invoke('users_QueryOrganizations', {
      userId: ((await invoke('actor_GetActor', {})).actor as { userId: string }).userId as never,
    })
    expect(organizations).toHaveLength(1)
    await device[Symbol.asyncDispose]()

    // The hub works with a role that owns nothing.
    await using database = await databaseOf(dataDir)
    const { rows: roles } = await database.query(
      `select distinct usename as role from pg_stat_activity where application_name = 'muster'`,
    )
    expect(roles).toEqual([{ role: 'muster_hub' }])

    const bytes = proportionalBytes([hub.pid, ...descendantsOf(hub.pid)])
    const socketDir = await socketDirOf(dataDir)
    hub.kill('SIGTERM')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    await expectNothingLeft(dataDir, socketDir)

    await using again = await startedHub({ dataDir })
    const secondMs = performance.now() - again.startedAt
    expect(await adminOf(dataDir)).toEqual(admin)
    expect(again.stdout()).not.toContain('--token')
    expect(again.stdout()).toContain(file)
    await signedIn(again)
    process.stdout.write(
      `first start ${Math.round(firstMs)} ms, second start ${Math.round(secondMs)} ms, idle ${(bytes / MIB).toFixed(1)} MiB (PSS)\n`,
    )
    expect(secondMs).toBeLessThan(5_000)
    expect(bytes).toBeLessThan(250 * MIB)
  })

  it('that is stopped half-way leaves nothing in the way of the next', async () => {
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

describe('a hub that is stopped', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s to its whole process group ends its connections and its database in order',
    async signal => {
      await using folder = await newFolder()
      const dataDir = join(folder.path, 'data')
      const hub = await startedHub({ dataDir, ownGroup: true })
      const all = await ledgers(hub, printedToken(hub), 3)
      const socketDir = await socketDirOf(dataDir)
      const from = performance.now()
      process.kill(-hub.pid, signal)
      expect(await hub.exited).toEqual({ code: 0, signal: null })
      expect(performance.now() - from).toBeLessThan(10_000)
      for (const { device } of all)
        expect(await device.link.ended).toEqual({ kind: 'PeerClose', reason: 'the hub is shutting down' })
      await expectNothingLeft(dataDir, socketDir)
      expect(hub.logged('the database server ended by itself; starting it again')).toEqual([])
      expect(hub.stderr()).not.toContain('"level":"error"')

      await using again = await startedHub({ dataDir })
      await expectAllStored(dataDir, all)
      const invoke = await signedIn(again)
      for (const { device } of all) {
        const { connections } = await invoke('devices_QueryConnections', { deviceId: device.deviceId })
        expect(connections).toMatchObject([{ endReason: 'ServerShutdown' }])
      }
    },
  )

  it('does not wait for a database that does not even die', { timeout: 120_000 }, async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await startedHub({ dataDir })
    const invoke = await signedIn(hub)
    const { server } = await databaseProcesses(dataDir)
    const all = [...server, ...descendantsOf(server[0]!)]
    for (const pid of all) signalNow(pid, 'SIGSTOP')
    try {
      const underWay = invoke('projects_Query', {}).catch(() => 'lost')
      hub.kill('SIGTERM')
      const end = await Promise.race([hub.exited, passing(80_000)])
      expect(end).toEqual({ code: 0, signal: null })
      expect(await underWay).toBe('lost')
    } finally {
      hub.kill('SIGKILL')
      for (const pid of all) signalNow(pid, 'SIGCONT')
    }
    await until(
      'the database server is gone',
      async () => (await databaseProcesses(dataDir)).server.length === 0,
    )
  })

  it('while it starts ends at once, whatever it waits for', async () => {
    await using folder = await newFolder()
    const base = join(folder.path, 'other')
    await mkdir(base, { mode: 0o755 })
    await using other = await startEmbeddedDatabase(base, createLog('error'))
    const { host, user, password, database } = other.access.owner as Record<string, string>
    const client = new pg.Client(other.access.owner)
    await client.connect()
    // As another node that migrates for an hour.
    await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
    const url = `postgresql://${user}:${password}@${encodeURIComponent(host!)}/${database}`
    await using hub = await spawnHub({
      dataDir: join(folder.path, 'data'),
      env: { MUSTER_DATABASE_URL: url },
    })
    await until('it waits', async () => {
      const { rows } = await client.query("select from pg_stat_activity where wait_event_type = 'Lock'")
      return rows.length > 0
    })
    hub.kill('SIGTERM')
    expect(await Promise.race([hub.exited, passing(10_000)])).toEqual({ code: null, signal: 'SIGTERM' })
    await client.end()
  })

  it('does not wait for clients that hold connections open', async () => {
    await using folder = await newFolder()
    const hub = await startedHub({ dataDir: join(folder.path, 'data') })
    const device = await connectDevice({ url: hub.url, token: printedToken(hub) })
    // It never answers the closing handshake.
    ;(device.webSocket as unknown as { _socket: { pause(): void } })._socket.pause()
    const cookie = await sessionOf(hub)
    const live = await fetch(`${hub.url}/api/v1/live`, { headers: { cookie } })
    const from = performance.now()
    hub.kill('SIGTERM')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - from).toBeLessThan(10_000)
    await live.body?.cancel().catch(() => {})
    device.webSocket.terminate()
  })
})

it.runIf(process.platform === 'linux')('a hub goes on although nothing more of its log fits', async () => {
  await using folder = await newFolder()
  await using hub = await spawnHub({ dataDir: join(folder.path, 'data'), shell: 'exec >/dev/full 2>&1' })
  const isReady = async (): Promise<boolean> =>
    (await fetch(`${hub.url}/readyz`).catch(() => undefined))?.ok ?? false
  await until('it is ready', isReady, 60_000)
  // Each refusal is a line.
  await expect(connectDevice({ url: hub.url, token: newId('deployment') })).rejects.toThrow()
  expect(await isReady()).toBe(true)
  hub.kill('SIGTERM')
  expect(await hub.exited).toEqual({ code: 0, signal: null })
})

it.runIf(process.platform === 'linux')('a hub goes on although nobody reads its log', async () => {
  await using folder = await newFolder()
  const pipe = join(folder.path, 'log')
  spawnSync('mkfifo', [pipe])
  // Open for reading, and nothing is read.
  await using _reader = await open(pipe, 'r+')
  const shell = `exec 2>${pipe}`
  const env = { MUSTER_LOG_LEVEL: 'debug' }
  await using hub = await startedHub({ dataDir: join(folder.path, 'data'), shell, env })
  const statusOf = async (): Promise<number> => (await fetch(`${hub.url}/healthz`)).status
  // Each is a line; a pipe takes some hundred.
  for (let call = 0; call < 1_000; call++) expect(await statusOf()).toBe(200)
  const from = performance.now()
  for (let call = 0; call < 10; call++) expect(await statusOf()).toBe(200)
  expect(performance.now() - from).toBeLessThan(5_000)
  hub.kill('SIGTERM')
  expect(await hub.exited).toEqual({ code: 0, signal: null })
})

it.runIf(process.platform === 'linux')(
  'a hub that may open no more files refuses sign-ins, and goes on when it may',
  async context => {
    if (spawnSync('prlimit', ['--version'], { stdio: 'ignore' }).status !== 0)
      return context.skip('needs prlimit of util-linux')
    await using folder = await newFolder()
    await using hub = await startedHub({ dataDir: join(folder.path, 'data') })
    const device = await connectDevice({ url: hub.url, token: printedToken(hub) })
    const { deviceId } = device
    const limit = (files: number): void =>
      void spawnSync('prlimit', ['--pid', String(hub.pid), `--nofile=${files}:`], { stdio: 'ignore' })
    const openFiles = (): Promise<number> => readdir(`/proc/${hub.pid}/fd`).then(names => names.length)
    const setProperty = () => device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    await setProperty()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const login = (): Promise<number> => signInOver(agent, hub)
    expect(await login()).toBe(200)
    for (const pid of descendantsOf(hub.pid))
      if (commandOf(pid).includes('passwords-process')) signalNow(pid, 'SIGKILL')
    await until('it is gone', () =>
      descendantsOf(hub.pid).every(pid => !commandOf(pid).includes('passwords-process')),
    )
    limit(await openFiles())
    for (let time = 0; time < 3; time++) expect(await login()).toBe(500)
    expect(await setProperty()).toEqual({ result: 'Set' })
    limit(1024)
    expect(await login()).toBe(200)
    agent.destroy()
    await device[Symbol.asyncDispose]()
  },
)

describe('a hub that is killed', () => {
  it.each([
    ['alone', false],
    ['with its database', true],
  ])(
    '%s starts again at once with everything that it acknowledged, and tells what it left unfinished',
    async (_what, withDatabase) => {
      await using folder = await newFolder()
      const dataDir = join(folder.path, 'data')
      const hub = await startedHub({ dataDir })
      const token = printedToken(hub)
      const all = await ledgers(hub, token, 8)
      const invoke = await signedIn(hub)
      const socketDir = await socketDirOf(dataDir)
      const command = await waitingCommand(dataDir, invoke)

      const { server } = await databaseProcesses(dataDir)
      const doomed = [hub.pid, ...(withDatabase ? [...server, ...descendantsOf(hub.pid)] : [])]
      for (const pid of doomed) signalNow(pid, 'SIGKILL')
      await hub.exited
      expect(await command.outcome).toBe('lost')
      await Promise.all(all.map(ledger => ledger.stop()))
      const killedAt = performance.now()
      await command.session.end().catch(() => {})

      await using again = await startedHub({ dataDir, port: hub.port })
      const restartMs = performance.now() - killedAt
      expect(restartMs).toBeLessThan(15_000)
      expect(existsSync(socketDir)).toBe(false)
      expect((await databaseProcesses(dataDir)).server).toHaveLength(1)
      const count = await expectAllStored(dataDir, all)
      process.stdout.write(
        `killed ${_what}: ${count} acknowledged, none lost, ready after ${Math.round(restartMs)} ms\n`,
      )

      const now = await signedIn(again)
      for (const { device } of all) {
        const { connections } = await now('devices_QueryConnections', { deviceId: device.deviceId })
        expect(connections).toMatchObject([{ endReason: 'NodeCrashed' }])
        expect(await now('devices_GetDetails', { deviceId: device.deviceId })).toMatchObject({
          isConnected: false,
        })
      }
      const { projectId } = command
      expect((await now('projects_GetDetails', { projectId })).name).toBe('First project')
      await using database = await databaseOf(dataDir)
      const { rows } = await database.query(
        `select status, finished_at is not null as "isFinished" from audit_action where action = 'projects_SetName'`,
      )
      expect(rows).toEqual([{ status: 'Panicked', isFinished: true }])

      await using device = await connectDevice({ url: again.url, token, identity: all[0]!.device.identity })
      expect(device.deviceId).toBe(all[0]!.device.deviceId)
    },
  )

  it('and not started again takes its database with it within seconds', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await startedHub({ dataDir })
    hub.kill('SIGKILL')
    await hub.exited
    await until(
      'the database server is gone',
      async () => {
        const { server, shells } = await databaseProcesses(dataDir)
        return server.length === 0 && shells.length === 0
      },
      5_000,
    )
    expect(existsSync(join(await databaseHome(dataDir), 'data/postmaster.pid'))).toBe(false)
    // The next start would remove it.
    await rm(await socketDirOf(dataDir), { recursive: true })
  })

  it('takes a database with it that was just about to start', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await (await startedHub({ dataDir }))[Symbol.asyncDispose]()
    const home = await databaseHome(dataDir)
    const runtime = (await readdir(home)).find(name => name.startsWith('runtime-'))!
    const program = join(home, runtime, 'bin/postgres')
    await rename(program, `${program}.real`)
    // As on a machine where a program takes long to come up.
    await writeFile(program, '#!/bin/sh\nsleep 1\nexec "$0.real" "$@"\n', { mode: 0o755 })
    const hub = await spawnHub({ dataDir })
    await until('the server begins', async () => (await databaseProcesses(dataDir)).shells.length > 0)
    hub.kill('SIGKILL')
    await hub.exited
    await until(
      'it is gone',
      async () => {
        const { server, shells } = await databaseProcesses(dataDir)
        return server.length === 0 && shells.length === 0
      },
      15_000,
    )
    await rm(await socketDirOf(dataDir), { recursive: true, force: true })
  })

  it('again and again starts every time', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    let token = ''
    const all: Ledger[] = []
    for (let round = 0; round < 5; round++) {
      const hub = await startedHub({ dataDir })
      token ||= printedToken(hub)
      all.push(...(await ledgers(hub, token, 2)))
      const { server } = await databaseProcesses(dataDir)
      // The order of dying is the machine's choice, not ours.
      for (const pid of round % 2 === 0 ? [hub.pid, ...server] : [...server, hub.pid])
        process.kill(pid, 'SIGKILL')
      await hub.exited
    }
    await using _hub = await startedHub({ dataDir })
    await expectAllStored(dataDir, all)
  })
})

describe('a database server that dies alone', () => {
  it.each<[string, (processes: { server: number[]; shells: number[] }) => number[]]>([
    ['the server', ({ server }) => server],
    ['one of its workers', ({ server }) => descendantsOf(server[0]!).slice(0, 1)],
    ['the shell that watches it', ({ shells }) => shells.slice(0, 1)],
  ])(
    'is started again when %s is killed: devices stay connected and their data goes on',
    async (_what, victims) => {
      await using folder = await newFolder()
      const dataDir = join(folder.path, 'data')
      await using hub = await startedHub({ dataDir })
      const all = await ledgers(hub, printedToken(hub), 6)
      const killedAt = performance.now()
      for (const pid of victims(await databaseProcesses(dataDir))) signalNow(pid, 'SIGKILL')
      const counts = all.map(({ acknowledged }) => acknowledged.length)
      await until(
        'every device is acknowledged again',
        () => all.every(({ acknowledged }, index) => acknowledged.length > counts[index]! + 50),
        30_000,
      )
      process.stdout.write(
        `${_what} killed: acknowledged again after ${Math.round(performance.now() - killedAt)} ms\n`,
      )
      expect(all.every(({ device }) => device.link.isOpen)).toBe(true)
      await Promise.all(all.map(ledger => ledger.stop()))
      await until('one server serves', async () => (await databaseProcesses(dataDir)).server.length === 1)
      await expectAllStored(dataDir, all)
      expect((await fetch(`${hub.url}/readyz`)).status).toBe(200)
      await Promise.all(all.map(({ device }) => device[Symbol.asyncDispose]()))
      const socketDir = await socketDirOf(dataDir)
      hub.kill('SIGTERM')
      expect(await hub.exited).toEqual({ code: 0, signal: null })
      await expectNothingLeft(dataDir, socketDir)
    },
  )

  it('leaves no command that was under way open in the log', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await using hub = await startedHub({ dataDir })
    const invoke = await signedIn(hub)
    const command = await waitingCommand(dataDir, invoke)
    for (const pid of (await databaseProcesses(dataDir)).server) signalNow(pid, 'SIGKILL')
    expect(await command.outcome).toBe('lost')
    await command.session.end().catch(() => {})
    await until(
      'it is told as failed',
      async () => {
        const { actions } = await invoke('audit_QueryAuditLogActions', {}).catch(() => ({ actions: [] }))
        return actions.find(({ action }) => action === 'projects_SetName')?.status === 'Failed'
      },
      20_000,
    )
  })

  it('is told by /readyz while it is away', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await using hub = await startedHub({ dataDir })
    const { server } = await databaseProcesses(dataDir)
    // Stopped and not dead: nothing answers and nothing fails.
    const all = [...server, ...descendantsOf(server[0]!)]
    for (const pid of all) signalNow(pid, 'SIGSTOP')
    const response = await fetch(`${hub.url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ status: 'not ready', reason: 'the database does not answer' })
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)
    for (const pid of all) signalNow(pid, 'SIGCONT')
    await until('it is ready again', async () => (await fetch(`${hub.url}/readyz`)).ok)
  })
})

describe('--demo', () => {
  it('brings its fleet again after its organization was deleted', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const options = ['--demo']
    const withFleet = async (hub: HubChild): Promise<Invoke> => {
      const invoke = await signedIn(hub)
      await until('devices came', async () => (await invoke('instance_GetStatistics', {})).devices > 0)
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

  it('says why its fleet did not come', async () => {
    await using folder = await newFolder()
    // Agents give their certificates to nobody who could be listened to.
    const env = { MUSTER_PUBLIC_URL: 'http://192.0.2.7' }
    await using hub = await startedHub({ dataDir: join(folder.path, 'data'), options: ['--demo'], env })
    await until('it is told', () => hub.logged('the simulated fleet ended').length > 0)
    expect(hub.logged('the simulated fleet ended')).toMatchObject([
      { level: 'warn', code: 1, problem: expect.stringContaining('expected https://') },
    ])
  })
})

describe('a start that cannot work', () => {
  /** Runs the hub until it gives up; expects one line that says why. */
  async function complaint(start: HubChildOptions): Promise<string> {
    const hub = await spawnHub(start)
    const { code, signal } = await hub.exited
    const lines = hub
      .stderr()
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('{"level":"info"'))
    expect({ code, signal, lines }).toMatchObject({ code: 1, signal: null, lines: [expect.any(String)] })
    expect(performance.now() - hub.startedAt).toBeLessThan(15_000)
    expect(hub.stdout()).toBe('')
    return lines[0]!
  }

  it('with a port that is taken', async () => {
    await using folder = await newFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await until('it listens', () => other.listening)
    const { port } = other.address() as { port: number }
    expect(await complaint({ dataDir: join(folder.path, 'data'), port })).toBe(
      `MUSTER_PORT: found 127.0.0.1:${port}, which another program uses, expected a free port.`,
    )
    other.close()
  })

  it('with an address that is not of this machine', async () => {
    await using folder = await newFolder()
    const env = { MUSTER_HOST: '203.0.113.1' }
    expect(await complaint({ dataDir: join(folder.path, 'data'), env })).toMatch(
      /^MUSTER_HOST: found 203\.0\.113\.1 \(EADDRNOTAVAIL\), expected an address or a name of this machine\.$/,
    )
  })

  it('with a folder that cannot be written', async () => {
    await using folder = await newFolder()
    await writeFile(join(folder.path, 'file'), '')
    for (const dataDir of ['/proc/muster', join(folder.path, 'file'), join(folder.path, 'file/data')])
      expect(await complaint({ dataDir })).toMatch(
        new RegExp(
          `^MUSTER_DATA_DIR: found ${dataDir} \\(E\\w+\\), expected a folder that can be written\\.$`,
        ),
      )
  })

  it.runIf(isRoot)('with a folder of somebody else', async () => {
    await using folder = await newFolder()
    const account = { uid: 65534, gid: 65534 }
    expect(await complaint({ dataDir: join(folder.path, 'data'), account })).toMatch(
      /^MUSTER_DATA_DIR: found .*\/data \(EACCES\), expected a folder that can be written\.$/,
    )
  })

  it('with a disk that is full', async context => {
    await using disk = await smallDisk(40)
    if (!disk) return context.skip('needs the right to mount a file system')
    const dataDir = join(disk.path, 'data')
    // The database's programs do not fit.
    expect(await complaint({ dataDir })).toMatch(/^ENOSPC: no space left on device, copyfile .*$/)
    await writeFile(join(disk.path, 'filler'), Buffer.alloc(64 * MIB)).catch(() => {})
    expect(await complaint({ dataDir })).toBe('ENOSPC: no space left on device, write')
    expect(await readdir(dataDir)).toEqual(['instance-key', 'postgres'])
  })

  it('with a folder that another hub uses', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await using hub = await startedHub({ dataDir })
    expect(await complaint({ dataDir })).toBe(
      `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${hub.pid}, expected a folder of this hub's own.`,
    )
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200)
    await using _database = await databaseOf(dataDir)
  })

  it('twice at the same moment, which one of them survives', async () => {
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
    ['MUSTER_PORT', 'http', 'MUSTER_PORT: found "http", expected a port number.'],
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
  ])('with a wrong setting: %s=%s', async (name, value, line) => {
    await using folder = await newFolder()
    expect(await complaint({ dataDir: join(folder.path, 'data'), env: { [name]: value } })).toBe(line)
    expect(existsSync(join(folder.path, 'data'))).toBe(false)
  })

  it.each([['--dmo'], ['serve'], ['--demo=1'], ['-d']])(
    'with an option that there is none of: %s',
    async option => {
      await using folder = await newFolder()
      const line = await complaint({ dataDir: join(folder.path, 'data'), options: [option] })
      expect(line).toContain(option.replace('=1', ''))
      expect(line).not.toContain('    at ')
    },
  )

  it('says how it is started when asked, and does not start', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const hub = await spawnHub({ dataDir, options: ['--help'] })
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    expect(hub.stdout()).toMatch(/^Usage: muster-hub \[--demo\]\n/)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('with a database that cannot be reached', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const port = await freePort()
    // Somebody who takes connections and says nothing.
    const mute = createServer(() => {}).listen(0, '127.0.0.1')
    await until('it listens', () => mute.listening)
    const { port: mutePort } = mute.address() as { port: number }
    const urls = [
      `postgresql://a:b@127.0.0.1:${port}/c`,
      'postgresql://a:b@nowhere.invalid/c',
      `postgresql://a:b@${encodeURIComponent(folder.path)}/c`,
      `postgresql://a:b@127.0.0.1:${mutePort}/c`,
    ]
    const lines = await Promise.all(
      urls.map((url, index) =>
        complaint({ dataDir: `${dataDir}${index}`, env: { MUSTER_DATABASE_URL: url } }),
      ),
    )
    for (const line of lines)
      expect(line).toMatch(/^MUSTER_DATABASE_URL: found .*, expected a reachable PostgreSQL/)
    mute.close()
  })
})

describe('a PostgreSQL of one’s own', () => {
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
    }

    const hubs = await Promise.all(
      ['a', 'b', 'c'].map(name =>
        spawnHub({ dataDir: join(folder.path, name), env: { ...env, MUSTER_NODE_NAME: name } }),
      ),
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
    const token = printedToken(first[0]!)
    await using device = await connectDevice({ url: hubs[2]!.url, token })
    const { deviceId } = device
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    const invoke = await signedIn(first[0]!)
    expect(await invoke('devices_GetDetails', { deviceId })).toMatchObject({
      isConnected: true,
      connections: [{ nodeName: 'c' }],
    })

    const stranger = await spawnHub({
      dataDir: join(folder.path, 'e'),
      env: { ...env, MUSTER_INSTANCE_KEY: '' },
    })
    expect((await stranger.exited).code).toBe(1)
    expect(stranger.stderr()).toBe(
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
})

describe.runIf(isRoot)('as root', () => {
  it('the database runs under an account without privileges', async () => {
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

  it('keeps the database where its account can enter, and finds it again when that changes', async () => {
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
      await chmod(closed, 0o755)
      await using second = await startedHub({ dataDir })
      expect(second.stdout()).not.toContain('--token')
      expect(await adminOf(dataDir)).toEqual(admin)
      expect(await databaseHome(dataDir)).toBe(home)
      await signedIn(second)
      await second[Symbol.asyncDispose]()

      // A copy names the same database, which two hubs must not share: one of them runs.
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
      // Neither may it take the place of one that is stopped, until it has a copy of the database as well.
      const instead = await spawnHub({ dataDir: copy })
      expect((await instead.exited).code).toBe(1)
      const copiedFiles = `${dirname(home)}.copy`
      await cp(dirname(home), copiedFiles, { recursive: true })
      await writeFile(join(copy, 'postgres/elsewhere'), `${copiedFiles}\n`)
      await using copied = await startedHub({ dataDir: copy })
      expect(await databaseHome(copy)).toBe(join(copiedFiles, '18'))
      await signedIn(copied)

      // A folder may be moved. Who makes one where it was begins anew, and takes nothing away from it.
      const moved = join(closed, 'moved')
      await rename(dataDir, moved)
      const mover = await startedHub({ dataDir: moved })
      await chmod(closed, 0o700)
      const third = await startedHub({ dataDir })
      expect(third.logged('an earlier data folder of this name has left its database')).toHaveLength(1)
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
    // Without its files it does not begin anew as if there had been none.
    const hub = await spawnHub({ dataDir })
    expect((await hub.exited).code).toBe(1)
    expect(hub.stderr()).toMatch(/^The files of the database are not in \/var\/lib\/muster\/.*\n$/)
  })

  it('lets that account in whatever the mask for new files is', async () => {
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

  it('does not begin anew when its account may no longer enter', async () => {
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

  it.runIf(mayRead)('an ordinary user can be the one who runs it', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await mkdir(dataDir)
    await chown(dataDir, 65534, 65534)
    const account = { uid: 65534, gid: 65534 }
    const hub = await startedHub({ dataDir, account })
    expect(accountOf(hub.pid)).toBe(65534)
    const { server } = await databaseProcesses(dataDir)
    expect(accountOf(server[0]!)).toBe(65534)
    await using device = await connectDevice({ url: hub.url, token: printedToken(hub) })
    expect(device.deviceId).toMatch(/^d_/)
    const socketDir = await socketDirOf(dataDir)
    hub.kill('SIGINT')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    await expectNothingLeft(dataDir, socketDir)
    await using again = await startedHub({ dataDir, account })
    await signedIn(again)
  })
})

/** Signals a process; one of the database's may have ended between the look and the signal, as its children do with it. */
/** What a process was started with. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // Ended meanwhile.
  }
}

/** Signs in as the first administrator over a connection that may be there already; the status of the answer. */
async function signInOver(agent: Agent, { url, dataDir }: HubChild): Promise<number> {
  const { email, password } = await adminOf(dataDir)
  const headers = { 'content-type': 'application/json' }
  return new Promise((done, failed) => {
    request(`${url}/api/private/login`, { agent, method: 'POST', headers }, answer => {
      answer.resume().once('end', () => done(answer.statusCode!))
    })
      .once('error', failed)
      .end(JSON.stringify({ email, password }))
  })
}

function signalNow(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

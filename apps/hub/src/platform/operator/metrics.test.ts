import { exec, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newDatedId, newId } from '@muster/actions'
import {
  connectDevice,
  connectPerson,
  deviceIdentity,
  failed,
  forwardLocally,
  liveStream,
  type MailServer,
  mailServer,
  smallDisk,
  type TestHub,
  testHub,
  until,
  withWrongEnd,
} from '@muster/testkit'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InstanceValues, MAX_NAMED_PROJECTS } from '../../features/instance/instance-values.ts'
import { storeLastBackup } from '../backup/last-backup.ts'
import { placeOf } from '../backup/last-backup-file.ts'
import { connectForCopy } from '../backup/snapshot.ts'
import { loadConfig } from '../config/config.ts'
import { METRICS, type MetricDefinition } from './metric-definitions.ts'

const TOKEN = 'an-operator-token-of-32-characters'
const ROOT = join(import.meta.dirname, '../../../../..')
const ALERTS = join(ROOT, 'deploy/prometheus/alerts.yml')
const DASHBOARD = join(ROOT, 'deploy/grafana/muster.json')
const DOCUMENT = join(ROOT, 'docs/operating.md')
/** Name of the metric that is exported only if `MUSTER_TLS_CERT` is set. */
const CERTIFICATE = 'muster_tls_certificate_expiry_timestamp_seconds'

const run = promisify(exec)

/** A sample of the exported text: name, labels and value. */
type Sample = { name: string; labels: Record<string, string>; value: number }

let hub: TestHub
let mails: MailServer
/** Disk of the folder of files; undefined where mounting is not allowed. */
let blobDisk: Awaited<ReturnType<typeof smallDisk>>
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let deviceId: string
let person: Awaited<ReturnType<typeof connectPerson>>
let exported: string
let samples: Sample[]
const open: AsyncDisposable[] = []

beforeAll(async () => {
  const { limits } = loadConfig({})
  mails = await mailServer()
  hub = await testHub({
    operatorPort: 0,
    operatorToken: TOKEN,
    smtpUrl: mails.url,
    limits: { ...limits, 'person-organizations': 1 },
  })
  fleet = await hub.fleet()
  blobDisk = await smallDisk(1)
  if (blobDisk) open.push(blobDisk)
  await rm(join(hub.dataDir, 'blobs'), { recursive: true })
  await symlink(blobDisk?.path ?? hub.dataDir, join(hub.dataDir, 'blobs'))
  await makeTraffic()
  exported = await scrape()
  samples = samplesOf(exported)
})
afterAll(async () => {
  for (const one of open) await one[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  await mails[Symbol.asyncDispose]()
})

/** Makes each counter of the hub count something. */
async function makeTraffic(): Promise<void> {
  const { token, owner } = fleet
  await using stack = new AsyncDisposableStack()
  const client = await connectForCopy(hub.pool.options, stack)
  const takenAt = new Date().toISOString()
  const backup = join(hub.dataDir, 'backup')
  await writeFile(backup, 'backup')
  await hub.pool.query('update cluster_node set facts = facts || $1', [
    { backup: { takenAt, state: 'Present' } },
  ])
  await storeLastBackup(client, {
    takenAt,
    sizeBytes: 6,
    place: await placeOf(backup),
    durationSecs: 30,
    isVerified: true,
    hasBlobs: true,
    hasKey: false,
  })
  const device = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
  open.push(device)
  deviceId = device.deviceId
  const events = Array.from({ length: 2 }, () => ({
    eventId: newDatedId('d_ev'),
    severity: 'Info',
    category: 'test',
    body: 'x',
    attributes: {},
    emittedAt: new Date().toISOString(),
  }))
  await device.invoke('devices_PublishEvents', { deviceId, events })
  const status = { state: 'failed', config: { path: 'a/b/c' }, lastError: 'no space' }
  await device.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.ota.status', value: status })
  await device.invoke('devices_SetProperty', {
    deviceId,
    name: 'dev.nexigon.system.health',
    value: { status: 'error' },
  })
  const command = await connectDevice({ url: hub.url, token, register: false })
  await command[Symbol.asyncDispose]()
  await failed(connectDevice({ url: hub.url, token: withWrongEnd(token) }))
  await failed(owner.invoke('organizations_Create', { name: 'One too many' }))
  const { organizationId } = fleet
  await owner.invoke('organizations_InviteMember', { organizationId, email: 'new@test.example' })
  await failed(hub.anonymous('projects_GetDetails', { projectId: fleet.projectId }))
  await fetch(`${hub.url}/api/v1/actions/invoke/no_SuchAction`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  open.push(await liveStream(hub, owner))
  await echoThroughDevice()
  // Only audit rows that are at least 5 s old are sealed (hashed and signed in batches), so the rows are made older.
  await sql`update audit_event set created_at = created_at - interval '10 seconds'`.execute(hub.db)
  await hub.runJob('audit_SealRows', {})
  await hub.runJob('audit_VerifySeals', {})
  await until('the mail is delivered', async () => mails.mails.length === 1)
  await until('the disconnect is counted', async () => hub.devices.sessions.length === 1)
}

/** Sends bytes through the hub to a port of the device and back, and keeps the connection open. */
async function echoThroughDevice(): Promise<void> {
  const service = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  open.push({ [Symbol.asyncDispose]: async () => void service.close() })
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  person = await connectPerson(hub.url, await hub.userToken(fleet.owner))
  const channel = await person.open(`device/${deviceId}/proxy/forward/tcp/${port}`)
  await channel.write(Buffer.from('hello'))
  await channel.read()
}

async function scrape(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${hub.operatorPort}/metrics`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return answer.text()
}

function samplesOf(text: string): Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels = '', value]) => ({
    name: name!,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, content]) => [label!, content!]),
    ),
    value: Number(value),
  }))
}

/** Sum of all samples of a metric that have these labels. Undefined if there is no sample. */
function sumOf(name: string, labels: Record<string, string> = {}, from = samples): number | undefined {
  const found = from.filter(
    sample =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.length > 0 ? found.reduce((sum, { value }) => sum + value, 0) : undefined
}

describe('/metrics', () => {
  it('exports every metric with its type, its labels and a value', () => {
    const types = Object.fromEntries(
      [...exported.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]),
    )
    const { [CERTIFICATE]: _, ...expected } = METRICS
    expect(types).toEqual(
      Object.fromEntries(Object.entries(expected).map(([name, { type }]) => [name, type])),
    )
    for (const [name, { type, labels = [] }] of Object.entries(
      expected as Record<string, MetricDefinition>,
    )) {
      const found = samples.filter(sample => sample.name === (type === 'histogram' ? `${name}_count` : name))
      // No scrape of this hub has failed, so the counter of failed scrapes has no sample.
      if (name === 'muster_scrape_failures_total') expect(found).toEqual([])
      else expect(Object.keys(found[0]?.labels ?? {}).sort(), name).toEqual([...labels].sort())
    }
  })

  it('O21: uses the label `quantile`, which belongs to summaries, for no gauge', () => {
    expect(exported).not.toContain('quantile=')
    expect(sumOf('nodejs_eventloop_lag_seconds', { percentile: '99' })).toBeGreaterThanOrEqual(0)
  })

  it('holds no id of a device, token, person or organization', () => {
    for (const id of [deviceId, fleet.tokenId, fleet.owner.userId, fleet.organizationId])
      expect(exported).not.toContain(id)
    expect(exported).not.toContain('no_SuchAction')
  })

  it.each<[string, Record<string, string>, number]>([
    ['muster_connected_devices', {}, 1],
    ['muster_device_connects_total', { kind: 'registered' }, 1],
    ['muster_device_connects_total', { kind: 'unregistered' }, 1],
    ['muster_device_disconnects_total', {}, 1],
    ['muster_refusals_total', { reason: 'token_invalid' }, 1],
    ['muster_events_stored_total', {}, 2],
    ['muster_ingest_batch_rows_sum', { kind: 'events' }, 2],
    ['muster_ingest_batch_rows_sum', { kind: 'properties' }, 2],
    ['muster_ingest_lag_seconds_count', { kind: 'events' }, 1],
    ['muster_limit_hits_total', { limit: 'person-organizations' }, 1],
    ['muster_action_seconds_count', { action: 'devices_PublishEvents' }, 1],
    ['muster_action_seconds_count', { action: 'unknown' }, 1],
    ['muster_action_errors_total', { action: 'projects_GetDetails', kind: 'Forbidden' }, 1],
    ['muster_forwards_open', {}, 1],
    ['muster_forwarded_bytes_total', { direction: 'to_device' }, 5],
    ['muster_forwarded_bytes_total', { direction: 'from_device' }, 5],
    ['muster_live_streams', {}, 1],
    ['muster_mails_total', { outcome: 'sent' }, 1],
    ['muster_mail_server_up', {}, 1],
    ['muster_health', { state: 'ready' }, 1],
    ['muster_health', { state: 'degraded' }, 0],
    ['muster_degraded', {}, 0],
    ['muster_nodes', { state: 'alive' }, 1],
    ['muster_audit_chain_intact', {}, 1],
    ['muster_backup_file_intact', {}, 1],
    ['muster_jobs', { job: 'audit_SealRows', state: 'failed' }, 0],
    ['muster_project_devices', { name: 'Test project', state: 'connected' }, 1],
    ['muster_project_devices', { name: 'Test project', state: 'disconnected' }, 1],
    ['muster_project_devices', { name: 'Test project', state: 'error' }, 1],
    ['muster_project_devices', { name: 'Test project', state: 'update_failed' }, 1],
  ])('counts %s %j as %d', (name, labels, value) => {
    expect(sumOf(name, labels)).toBe(value)
  })

  it('exports the free space of the folder of files, which may be on a disk of its own', () => {
    const sizeOf = (folder: string) => sumOf('muster_disk_size_bytes', { folder })
    expect(sizeOf('blobs')).toBe(blobDisk ? 1024 ** 2 : sizeOf('data'))
    expect(sumOf('muster_disk_free_bytes', { folder: 'blobs' })).toBeGreaterThan(0)
  })

  it('counts a forward no more once it has ended', async () => {
    expect(sumOf('muster_command_line_links')).toBe(1)
    await person[Symbol.asyncDispose]()
    await until('the forward has ended', async () => {
      const now = samplesOf(await scrape())
      return sumOf('muster_forwards_open', {}, now) === 0 && sumOf('muster_command_line_links', {}, now) === 0
    })
  })

  it.skipIf(!hasPrograms('curl'))('answers the commands of docs/operating.md', async () => {
    await writeFile(join(hub.dataDir, 'operator-token'), `${TOKEN}\n`)
    const commands = (await readFile(DOCUMENT, 'utf8')).match(/^curl .*operator-token.*$/gm) ?? []
    const answers = await Promise.all(
      commands.map(command =>
        run(command.replace('.muster/', `${hub.dataDir}/`).replace('6881', `${hub.operatorPort}`)),
      ),
    )
    expect(answers).toHaveLength(2)
    expect(answers[0]!.stdout).toContain('muster_connected_devices 1')
    expect(JSON.parse(answers[1]!.stdout)).toMatchObject({ state: 'ready' })
  })

  it('adds up the projects beyond the 200 with most devices', async () => {
    await hub.db
      .insertInto('project')
      .values(
        Array.from({ length: MAX_NAMED_PROJECTS + 20 }, (_, at) => ({
          project_id: newId('p'),
          organization_id: fleet.organizationId,
          name: `many ${at}`,
        })),
      )
      .execute()
    const { projects = [] } = await new InstanceValues(hub.db, () => {}).read()
    expect(projects).toHaveLength(MAX_NAMED_PROJECTS + 1)
    expect(projects.filter(({ projectId }) => projectId === null)).toMatchObject([
      { name: null, connected: 0 },
    ])
    expect(projects.find(({ projectId }) => projectId === fleet.projectId)).toMatchObject({ connected: 1 })
  })

  it('serves the values before when new ones take longer than 2 s, and counts the failure', async () => {
    const parts: string[] = []
    const values = new InstanceValues(hub.db, part => parts.push(part), 0)
    const before = { ...(await values.read()) }
    const locker = await hub.pool.connect()
    try {
      await locker.query('begin; lock table asset in access exclusive mode')
      expect((await values.read()).storage).toEqual(before.storage)
      await until('the part is given up', async () => parts.length > 0)
      expect(parts).toEqual(['storage'])
    } finally {
      await locker.query('rollback')
      locker.release()
    }
  })
})

describe('the alert rules and the dashboard', () => {
  it('name only metrics and labels that the hub exports', async () => {
    const rules = [...(await readFile(ALERTS, 'utf8')).matchAll(/^ +expr: (.*)$/gm)].map(([, expr]) => expr!)
    const { panels, templating } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as Dashboard
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(rules.length).toBeGreaterThan(20)
    expect(queries.length).toBeGreaterThan(40)
    const used = [...rules, ...queries, ...templating.list.map(({ query }) => query)].flatMap(metricsIn)
    for (const { name, labels } of used) {
      const definition = (METRICS as Record<string, MetricDefinition>)[
        name.replace(/_(bucket|sum|count)$/, '')
      ]
      expect(definition, name).toBeDefined()
      if (name !== CERTIFICATE && !name.startsWith('muster_scrape_failures'))
        expect(samples.map(sample => sample.name)).toContain(name)
      // Prometheus adds the label `instance`, and histograms have `le`.
      const known = [...(definition?.labels ?? []), 'instance', 'le']
      expect(known, `${name}: ${labels}`).toEqual(expect.arrayContaining(labels))
    }
    // Every metric of the hub is in a rule or on the dashboard, except for one.
    const names = new Set(used.map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')))
    expect(Object.keys(METRICS).filter(name => !names.has(name) && name.startsWith('muster_'))).toEqual([
      'muster_blob_removals_waiting',
    ])
  })

  it('stand in docs/operating.md, every alert with its meaning', async () => {
    const alerts = [...(await readFile(ALERTS, 'utf8')).matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert)
    const described = [...(await readFile(DOCUMENT, 'utf8')).matchAll(/^\| `(Muster\w+)` \|/gm)]
    expect(described.map(([, alert]) => alert)).toEqual(alerts)
  })

  it.skipIf(!hasPrograms('promtool'))(
    'are accepted by promtool, with the configuration in docs/operating.md',
    async () => {
      expect(
        execFileSync(PROGRAMS.promtool.path, ['check', 'rules', ALERTS], { encoding: 'utf8' }),
      ).toContain('SUCCESS')
      const [, configuration] =
        /```yaml\n(scrape_configs:[^`]*)```/.exec(await readFile(DOCUMENT, 'utf8')) ?? []
      const folder = await mkdtemp(join(tmpdir(), 'muster-promtool-'))
      try {
        const file = join(folder, 'prometheus.yml')
        await writeFile(file, configuration!)
        const check = ['check', 'config', '--syntax-only', file]
        expect(execFileSync(PROGRAMS.promtool.path, check, { encoding: 'utf8' })).toContain('SUCCESS')
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )
})

type Dashboard = {
  panels: { targets?: { expr: string }[] }[]
  templating: { list: { query: string }[] }
}

/** Metrics in a PromQL expression, with the labels of their matchers and of the expression's aggregations. */
function metricsIn(expr: string): { name: string; labels: string[] }[] {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/,\s*/))
  return [...expr.matchAll(/\b((?:muster|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name, matchers = '']) => ({
      name: name!,
      labels: [...grouped, ...[...matchers.matchAll(/(\w+)\s*[=!]~?/g)].map(([, label]) => label!)],
    }),
  )
}

describe('a listener beyond this machine', () => {
  it('has TLS with the certificate of the hub, exports its end, and answers no plain HTTP', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-operator-'))
    const endsAt = new Date('2040-01-01T00:00:00Z')
    const { certificatePem, keyPem } = await deviceIdentity(endsAt)
    const tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') }
    await writeFile(tls.certPath, certificatePem)
    await writeFile(tls.keyPath, keyPem!)
    await using secure = await testHub({
      operatorPort: 0,
      operatorToken: TOKEN,
      operatorHost: '0.0.0.0',
      tls,
    })
    const headers = { authorization: `Bearer ${TOKEN}` }
    const url = `127.0.0.1:${secure.operatorPort}/metrics`
    const [response] = await once(
      request(`https://${url}`, { headers, rejectUnauthorized: false }).end(),
      'response',
    )
    let text = ''
    for await (const part of response) text += part
    expect(response.statusCode).toBe(200)
    expect(sumOf(CERTIFICATE, {}, samplesOf(text))).toBe(endsAt.getTime() / 1000)
    await expect(fetch(`http://${url}`, { headers })).rejects.toThrow()
    await rm(folder, { recursive: true })
  })
})

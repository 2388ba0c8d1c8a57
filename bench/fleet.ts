import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { deviceIdentity } from '@muster/testkit/device'
import pg from 'pg'
import { createDeviceCertificate } from '../apps/agent/src/certificate.ts'
import { quantile } from './child.ts'
import { type BenchHub, count, startBenchHub } from './hub-process.ts'
import type { ConnectRun, LedgerRun, ReconnectRun } from './load-client.ts'
import { maxOpenFiles, treeProcessorSecs } from './processes.ts'
import {
  COLLECTS_GARBAGE,
  type LoadClient,
  measureIdleSockets,
  report,
  reportGoal,
  residentAfterCollection,
  startLoadClient,
} from './yardsticks.ts'

/** Number of devices that connect at the same time. */
const PARALLEL = 64
/** Number of devices that publish while the whole fleet reconnects for the last time. */
const LEDGER_DEVICES = 200
/** Pause of a publishing device after an answer, in milliseconds. */
const LEDGER_PAUSE_MS = 200
const INVOKES_PER_SEC = 50
/** Number of devices that connect before measuring starts. */
const FIRST_DEVICES = 500
/** Time in milliseconds after which a device that has not reconnected counts as lost. */
const STORM_LIMIT_MS = 120_000
/** Time limit in milliseconds until the audit rows of the fleet's enrolment are sealed, that is, hashed and signed in batches. */
const SEALED_LIMIT_MS = 300_000
/** Number of file descriptors that a hub or load client needs besides those of the devices' connections. */
const SPARE_FILES = 500
/** Limit in seconds for the reconnection of a fleet while events are published. */
const MAX_STORM_SECS = 60
/** Largest growth of the hub's memory during a measurement, in MiB, that still counts as flat. */
const FLAT_MIB = 4

type Tls = {
  client: { cert: string; key: string }
  /** Paths of PEM files. `ca` contains the clients' certificate. */
  files: { ca: string; cert: string; key: string }
}

/**
 * Measures a whole fleet on one hub (docs/goals.md P4, P5, P6, P17, P18). Compares the memory of idle devices with that of idle sockets
 * of a plain WebSocket server. Measures a property write by every device, an idle fleet, and the reconnect storm (all devices
 * reconnect at the same time) after the hub was killed. Arguments: number of devices, idle seconds.
 */
export async function fleet(deviceCount = '10000', idleSecs = '60'): Promise<void> {
  const devices = Number(deviceCount)
  const files = maxOpenFiles()
  if (files < devices + SPARE_FILES) {
    process.stderr.write(
      `A process may open ${files} files; ${devices} devices need ${devices + SPARE_FILES}: raise it with "ulimit -Hn" or name fewer devices.\n`,
    )
    process.exitCode = 2
    return
  }
  const folder = await mkdtemp(join(tmpdir(), 'muster-fleet-'))
  await chmod(folder, 0o755)
  try {
    await plainFleet(devices, Number(idleSecs))
    await tlsFleet(devices, await makeTls(folder))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function plainFleet(devices: number, idleSecs: number): Promise<void> {
  const sockets = await measureIdleSockets({}, { count: devices, parallel: PARALLEL }, idleSecs)
  report(`${devices} sockets of a plain server`, socketsText(sockets))
  await using hub = await startBenchHub({ NODE_OPTIONS: COLLECTS_GARBAGE.join(' ') })
  const client = startLoadClient()
  const kibEach = await connectFleet(hub, client, devices)
  reportMemory('plain', kibEach, sockets.kibEach, 2)
  await reportIdle(hub, idleSecs, sockets.pingShare)
  await client.end()
}

async function tlsFleet(devices: number, tls: Tls): Promise<void> {
  const idle = { count: devices, parallel: PARALLEL, client: tls.client }
  const sockets = await measureIdleSockets({ tls: tls.files }, idle, 1)
  report(`${devices} sockets with mutual TLS`, socketsText(sockets))
  await using hub = await startBenchHub({
    NODE_OPTIONS: COLLECTS_GARBAGE.join(' '),
    MUSTER_TLS_CERT: tls.files.cert,
    MUSTER_TLS_KEY: tls.files.key,
  })
  const client = startLoadClient()
  const kibEach = await connectFleet(hub, client, devices, tls.client)
  reportMemory('mutual TLS', kibEach, sockets.kibEach, 1.15)

  const probe = await Probe.signIn(hub)
  const gateSecs = (1.6 * devices) / sockets.perSec
  for (const resumes of [false, true]) {
    const name = resumes ? 'storm, sessions resumed' : 'storm, full handshakes'
    await reportStorm(hub, client, probe, { name, goal: 'P5', devices, resumes, gateSecs })
  }
  await client.ask({ keepLedger: { devices: LEDGER_DEVICES, pauseMs: LEDGER_PAUSE_MS } })
  // Some devices publish events before and during the last reconnect storm. The ledger records the ids of their acknowledged
  // events.
  await pause(2_000)
  const load = { name: 'storm, events in flight', goal: '', devices, resumes: false }
  await reportStorm(hub, client, probe, { ...load, gateSecs: MAX_STORM_SECS })
  const ledger = await client.ask<LedgerRun>({ endLedger: true })
  const { acknowledged, missing, unknown } = await checkLedger(hub, ledger)
  reportGoal(
    '',
    'ledger of acknowledged events',
    `${missing} missing, ${unknown} unknown of ${acknowledged}`,
    '0 missing, 0 unknown',
    missing === 0 && unknown === 0,
  )
  probe.close()
  await client.end()
}

async function reportStorm(
  hub: BenchHub,
  client: LoadClient,
  probe: Probe,
  load: { name: string; goal: string; devices: number; resumes: boolean; gateSecs: number },
): Promise<void> {
  const { name, goal, devices, resumes, gateSecs } = load
  const storm = await runStorm(hub, client, probe, devices, resumes)
  const { resumed, failures } = storm.run
  report(
    name,
    `${resumed} sessions resumed, ${failures} tries failed; the hub served after ${storm.startSecs.toFixed(1)} s, then ${storm.microsecs.toFixed(0)} us of processor time each`,
  )
  const gate = `<= ${gateSecs.toFixed(1)} s`
  reportGoal(goal, `${name}: all back`, `${storm.secs.toFixed(1)} s`, gate, storm.secs <= gateSecs)
  const { p50Ms, p99Ms, answers, errors } = storm.invokes
  reportGoal(
    'P6',
    `${name}: ${INVOKES_PER_SEC} actions a second`,
    `p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${errors} errors of ${answers}`,
    'p99 <= 250 ms, 0 errors',
    p99Ms <= 250 && errors === 0,
  )
  const { shown, open, different } = storm
  reportGoal(
    '',
    'no device lost or duplicated',
    `${shown} shown, ${open} connections, ${different} devices`,
    `${devices} of each`,
    [shown, open, different].every(number => number === devices),
  )
}

/**
 * Connects a fleet and returns the hub's memory per idle device in KiB. The first devices are excluded, because they make the hub
 * load and compile its code.
 */
async function connectFleet(
  hub: BenchHub,
  client: LoadClient,
  devices: number,
  tls?: { cert: string; key: string },
): Promise<number> {
  const { url, token } = hub
  const load = { url, token, parallel: PARALLEL, ...(tls && { tls }) }
  await client.ask<ConnectRun>({ connect: { ...load, count: FIRST_DEVICES } })
  await client.ask({ setProperty: { name: 'first' } })
  const before = await residentAfterCollection(hub.pid)

  const others = devices - FIRST_DEVICES
  const cpu = treeProcessorSecs(hub.pid)
  const { secs } = await client.ask<ConnectRun>({ connect: { ...load, count: others } })
  const microsecs = ((treeProcessorSecs(hub.pid) - cpu) / others) * 1e6
  report(
    `${others} new devices`,
    `${Math.round(others / secs)} a second, ${microsecs.toFixed(0)} us of processor time each`,
  )
  const set = await client.ask<{ secs: number }>({ setProperty: { name: 'measured' } })
  const stored = await count(hub, `select count(*) from device_property where name = 'measured'`)
  if (stored !== devices) throw new Error(`${stored} of ${devices} properties are stored`)
  if (!tls)
    reportGoal(
      'P17',
      'each sets a property, stored and visible',
      `${set.secs.toFixed(2)} s`,
      '<= 2 s',
      set.secs <= 2,
    )
  return ((await residentAfterCollection(hub.pid)) - before) / others
}

function reportMemory(name: string, kibEach: number, kibOfSocket: number, gate: number): void {
  const share = kibEach / kibOfSocket
  reportGoal(
    'P4',
    `memory of an idle device, ${name}`,
    `${kibEach.toFixed(1)} KiB, x${share.toFixed(2)} of a socket`,
    `<= x${gate}`,
    share <= gate,
  )
}

/** Compares an idle fleet with `leastShare`, the share of a core of a plain server with the same Pings. */
async function reportIdle(hub: BenchHub, secs: number, leastShare: number): Promise<void> {
  await untilSealed(hub)
  const kibBefore = await residentAfterCollection(hub.pid)
  const before = treeProcessorSecs(hub.pid)
  await pause(secs * 1000)
  const share = (treeProcessorSecs(hub.pid) - before) / secs
  const grownMib = ((await residentAfterCollection(hub.pid)) - kibBefore) / 1024
  const ratio = share / leastShare
  report('plain server with the same Pings', `${(leastShare * 100).toFixed(1)} % of a core`)
  reportGoal(
    'P18',
    `all devices idle for ${secs} s, Pings every 5 s`,
    `${(share * 100).toFixed(1)} % of a core, x${ratio.toFixed(2)}`,
    '<= x1.50',
    ratio <= 1.5,
  )
  reportGoal(
    'P18',
    'memory meanwhile',
    `${grownMib.toFixed(1)} MiB more`,
    `<= ${FLAT_MIB} MiB`,
    grownMib <= FLAT_MIB,
  )
}

/**
 * Waits until the hub has sealed (hashed and signed in batches) the audit rows of the fleet's enrolment. Sealing is the hub's last
 * background work after an enrolment.
 */
export async function untilSealed(hub: BenchHub): Promise<void> {
  const deadline = performance.now() + SEALED_LIMIT_MS
  while (performance.now() < deadline) {
    if ((await count(hub, 'select count(*) from audit_event where seal_no is null')) === 0) return
    await pause(1_000)
  }
  throw new Error(`audit rows are not sealed after ${SEALED_LIMIT_MS / 1000} s`)
}

/** Kills the hub, restarts it, and waits until its database shows every device as connected. */
async function runStorm(hub: BenchHub, client: LoadClient, probe: Probe, devices: number, resumes: boolean) {
  await hub.kill()
  const killedAt = performance.now()
  const back = client.ask<ReconnectRun>({
    reconnect: { parallel: PARALLEL, resumes, giveUpMs: STORM_LIMIT_MS },
  })
  await hub.start()
  const startSecs = (performance.now() - killedAt) / 1000
  const cpu = treeProcessorSecs(hub.pid)
  const probing = probe.run()
  const database = new pg.Client(hub.database)
  await database.connect()
  // The database is polled only after all devices have reconnected. A device is admitted only after it is recorded as connected,
  // so earlier polls would only add load.
  const run = await back
  let shown = 0
  const deadline = performance.now() + STORM_LIMIT_MS
  while (shown < devices && performance.now() < deadline) {
    const { rows } = await database.query<{ count: string }>('select count(*) from device where is_connected')
    shown = Number(rows[0]!.count)
    await pause(50)
  }
  const shownAt = Date.now()
  const microsecs = ((treeProcessorSecs(hub.pid) - cpu) / devices) * 1e6
  const invokes = await probing.end()
  const { rows } = await database.query<{ open: string; different: string }>(
    'select count(*) as open, count(distinct device_id) as different from device_connection where ended_at is null',
  )
  await database.end()
  const secs = (shownAt - run.firstAcceptedAt) / 1000
  const [{ open, different }] = rows as [{ open: string; different: string }]
  return { run, startSecs, microsecs, secs, invokes, shown, open: Number(open), different: Number(different) }
}

/** Counts acknowledged events that are not stored (`missing`) and stored events that were never sent (`unknown`). */
export async function checkLedger(hub: Pick<BenchHub, 'query'>, ledger: LedgerRun) {
  let acknowledged = 0
  let missing = 0
  let unknown = 0
  for (const book of ledger) {
    const rows = await hub.query('select event_id from device_event where device_id = $1', [book.deviceId])
    const stored = new Set(rows.map(row => row.event_id as string))
    const sent = new Set([...book.acknowledged, ...book.unanswered])
    acknowledged += book.acknowledged.length
    missing += book.acknowledged.filter(eventId => !stored.has(eventId)).length
    unknown += rows.filter(row => !sent.has(row.event_id as string)).length + (rows.length - stored.size)
  }
  return { acknowledged, missing, unknown }
}

/**
 * Simulates a user's console during the storm by running an action on a fixed schedule. Latency counts from the due time of each
 * call.
 */
class Probe {
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 32 })
  readonly #hub: BenchHub
  #cookie = ''
  #projectId = ''

  private constructor(hub: BenchHub) {
    this.#hub = hub
  }

  static async signIn(hub: BenchHub): Promise<Probe> {
    const probe = new Probe(hub)
    const { email, password } = hub.signIn
    const { headers } = await probe.#post('/api/private/login', { email, password, remember: false })
    probe.#cookie = headers['set-cookie']![0]!.split(';')[0]!
    probe.#projectId = (await hub.query('select project_id from project'))[0]!.project_id as string
    return probe
  }

  /** Invokes the action on schedule until `end()` is called. */
  run(): { end(): Promise<{ p50Ms: number; p99Ms: number; answers: number; errors: number }> } {
    const latencies: number[] = []
    let errors = 0
    const started = performance.now()
    const asked: Promise<void>[] = []
    const timer = setInterval(() => {
      const dueNow = ((performance.now() - started) / 1000) * INVOKES_PER_SEC
      while (asked.length < dueNow) {
        const due = started + (asked.length * 1000) / INVOKES_PER_SEC
        const answer = this.#post('/api/v1/actions/invoke/projects_GetDetails', {
          projectId: this.#projectId,
        })
        asked.push(
          answer.then(
            ({ status }) => {
              latencies.push(performance.now() - due)
              if (status !== 200) errors++
            },
            () => void errors++,
          ),
        )
      }
    }, 5)
    return {
      end: async () => {
        clearInterval(timer)
        await Promise.all(asked)
        latencies.sort((a, b) => a - b)
        const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)]
        return { p50Ms, p99Ms, answers: asked.length, errors }
      },
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #post(path: string, body: object): Promise<{ status: number; headers: IncomingHttpHeaders }> {
    const { url } = this.#hub
    const headers = { 'content-type': 'application/json', origin: url, cookie: this.#cookie }
    return new Promise((done, failed) => {
      const outgoing = request(url + path, { method: 'POST', agent: this.#agent, headers }, answer => {
        answer.resume()
        answer.once('end', () => done({ status: answer.statusCode!, headers: answer.headers }))
        answer.once('error', failed)
      })
      outgoing.once('error', failed)
      outgoing.end(JSON.stringify(body))
    })
  }
}

/** Creates the hub's certificate, and one client certificate that all devices and all sockets of the plain server share. */
async function makeTls(folder: string): Promise<Tls> {
  const made = createDeviceCertificate('localhost')
  const { certificatePem, keyPem } = await deviceIdentity()
  const file = (name: string): string => join(folder, name)
  const files = { ca: file('client.pem'), cert: file('hub.pem'), key: file('hub.key') }
  await writeFile(files.ca, certificatePem)
  await writeFile(files.cert, made.certificatePem)
  await writeFile(files.key, made.keyPem)
  return {
    client: { cert: certificatePem, key: keyPem! },
    files,
  }
}

function socketsText({
  kibEach,
  perSec,
  microsecs,
}: {
  kibEach: number
  perSec: number
  microsecs: number
}): string {
  return `${kibEach.toFixed(1)} KiB each, ${Math.round(perSec)} a second, ${microsecs.toFixed(0)} us of processor time each`
}

import type { ChildProcess } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createCertificate } from '@muster/link/certificate'
import { connectDevice, connectPerson } from '@muster/testkit/device'
import type { FrontProgram } from '@muster/testkit/front'
import { hasPrograms } from '@muster/testkit/programs'
import { until } from '@muster/testkit/until'
import { launchBrowser } from '../e2e/browser.ts'
import { consoleUser } from '../e2e/console-user.ts'
import {
  deviceAt,
  echoService,
  endRights,
  forwardTo,
  newMember,
  streamAt,
  timeOf,
} from '../e2e/ended-rights.ts'
import { sendForeignIds } from '../e2e/foreign-ids.ts'
import { newFolder } from '../e2e/hub-child.ts'
import { type CarrierKind, type Nodes, nextBuild, startNodes } from '../e2e/nodes.ts'
import { forwardEnd } from '../testkit/src/device-page.ts'
import { ask, forked, median, quantile } from './child.ts'
import { checkLedger } from './fleet.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { seedDevices } from './list-seed.ts'
import type { AbsencesRun, ConnectRun, LedgerRun, PublishRun } from './load-client.ts'
import { memoryKiB, residentKiB, treeProcessorSecs } from './processes.ts'
import type { Gets, GetsRun, Target } from './stream-client.ts'
import type { DeviceReady } from './tunnel-device.ts'
import {
  COLLECTS_GARBAGE,
  collectGarbage,
  type LoadClient,
  report,
  reportGoal,
  startLoadClient,
} from './yardsticks.ts'

/** The proxy in front of the nodes by the transport of the messages between nodes, unless an argument names one. */
const FRONT: Record<CarrierKind, FrontProgram> = { PostgreSQL: 'nginx', NATS: 'haproxy' }
const PARALLEL = 64
/** Number of devices that publish. Together they publish 500 events a second. */
const LEDGER_DEVICES = 250
/** Interval of the events of a publishing device, in milliseconds. */
const LEDGER_INTERVAL_MS = 500
/** Time, in seconds, over which a stopping node hands its devices over: 1,000 devices, a third of the default fleet of 3,000. */
const DRAIN_SECS = 5
const ROUNDS = 3
const SMALL_PER_SEC = 50
const SMALL_SECS = 6
/** Size of a small message over a forward, in bytes. */
const SMALL_BYTES = 64
const TIMES = 30
/** Loads of the measurements that compare one node with three nodes. `window` is the number of events per call. */
const GROWTH = { devices: 500, publishing: 200, window: 20, secs: 6, connections: 8 }
/** Number of devices in the database when starts are measured. */
const SEEDED_DEVICES = 100_000
/** Number of measured starts. */
const STARTS = 5
/** Time, in milliseconds, in which an idle hub has given memory back: two of its intervals and a rest. */
const IDLE_MS = 130_000
/** Timeout of each wait for a condition, in milliseconds. */
const WAIT_MS = 120_000

type World = { nodes: Nodes; devices: number; client: LoadClient }

/**
 * Checks the promises about several nodes (docs/operating.md) with a whole fleet: goals P20, P21, P22 and R5 of docs/goals.md. Runs
 * with messages over PostgreSQL behind nginx, and with messages over NATS behind HAProxy. Also compares the throughput of three nodes
 * with that of one node. Arguments: number of devices, message transports separated by commas, and the proxy, `nginx` or `haproxy`.
 */
export async function cluster(
  deviceCount = '3000',
  carriers = 'PostgreSQL,NATS',
  proxy?: string,
): Promise<void> {
  // The certificates of the proxies are self-signed.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  process.removeAllListeners('warning')
  for (const kind of carriers.split(',') as CarrierKind[]) {
    const front = (proxy ?? FRONT[kind]) as FrontProgram
    if (!hasPrograms(front) || (kind === 'NATS' && !hasPrograms('nats-server'))) {
      report(kind, `skipped: ${front} or nats-server is not installed`)
      continue
    }
    report('', `three nodes, ${kind} as bus, ${front} in front`)
    await measure(kind, front, Number(deviceCount))
  }
}

async function measure(kind: CarrierKind, front: FrontProgram, devices: number): Promise<void> {
  await using nodes = await startNodes(kind, front, {
    MUSTER_LOG_LEVEL: 'info',
    MUSTER_DRAIN_SECS: String(DRAIN_SECS),
    NODE_OPTIONS: COLLECTS_GARBAGE.join(' '),
  })
  const client = startLoadClient()
  const world: World = { nodes, devices, client }
  await onBus(nodes)
  await connectFleet(world)
  await proxied(world)
  await presence(world)
  await client.ask({ stay: true })
  const publishing = { devices: Math.min(devices, LEDGER_DEVICES), pauseMs: LEDGER_INTERVAL_MS }
  await client.ask({ keepLedger: { ...publishing, isScheduled: true } })
  const startedAtMs = performance.now()
  await messages(world)
  await disturbed(world)
  const ledger = await client.ask<LedgerRun>({ endLedger: true })
  await reportLedger(nodes, ledger, (performance.now() - startedAtMs) / 1000)
  await client.end()
  await growth(nodes)
  await starts(nodes)
}

/** Waits until all nodes are connected to the message bus. A node connects to it when it has seen another node. */
async function onBus({ hubs }: Nodes): Promise<void> {
  await until(
    'all nodes are on the bus',
    () => hubs.every(hub => hub.logged('the bus between nodes is connected').length > 0),
    WAIT_MS,
  )
}

/**
 * Connects the fleet through the proxy. Reports the number of devices at each node, the resident memory (RSS) of the nodes without a forced
 * collection, and the memory that a device costs after one.
 */
async function connectFleet({ nodes, devices, client }: World): Promise<void> {
  const { front, hubs, token, database } = nodes
  const memory = async () => {
    await collectGarbage(...hubs.map(({ pid }) => pid))
    return {
      nodes: hubs.reduce((sum, { pid }) => sum + memoryKiB(pid).hub, 0),
      front: memoryKiB(front.pid).all,
    }
  }
  const resident = (): string =>
    `${hubs.map(({ pid }) => (residentKiB(pid) / 1024).toFixed(0)).join(', ')} MiB (RSS)`
  report('resident memory of the nodes after their start', resident())
  const before = await memory()
  report('memory of an idle node', `${(before.nodes / hubs.length / 1024).toFixed(0)} MiB (PSS)`)
  const { certificatePem: cert, keyPem: key } = createCertificate('bench')
  const { secs } = await client.ask<ConnectRun>({
    connect: { url: front.url, token, count: devices, parallel: PARALLEL, tls: { cert, key } },
  })
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::int as count from device_connection c join cluster_node n using (node_id)
      where c.ended_at is null group by n.name order by n.name`,
  )
  const counts = rows.map(({ count }) => count)
  report(
    'new devices through the proxy',
    `${Math.round(devices / secs)} a second, ${counts.join(' + ')} on the nodes`,
  )
  report('resident memory of the nodes at once', resident())
  await pause(IDLE_MS)
  report('resident memory of the nodes, idle', resident())
  const after = await memory()
  const each = (key: keyof typeof after): string => ((after[key] - before[key]) / devices).toFixed(1)
  report('memory of a device', `${each('nodes')} KiB in its node, ${each('front')} KiB in the proxy (PSS)`)
  const files = hubs.map(({ pid }) => readdirSync(`/proc/${pid}/fd`).length)
  report('file descriptors of the nodes', files.join(', '))
  const sessions = await database.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend' and usename <> 'postgres'`,
  )
  report('connections of PostgreSQL', `${sessions.rows[0]!.count} of three nodes`)
}

/** Gets a small page of a device on a schedule. Throws if a request fails. */
async function smallPages(client: ChildProcess, target: Target): Promise<GetsRun> {
  const gets: Gets = { target, path: '/', perSec: SMALL_PER_SEC, secs: SMALL_SECS }
  const run = await ask<GetsRun>(client, { gets })
  if (run.failures.length > 0)
    throw new Error(`${run.failures.length} small pages failed: ${run.failures[0]}`)
  return run
}

/**
 * Measures how long a small web page of a device takes through the HTTP proxy, requested at the node that holds the device's link and at
 * another node (docs/goals.md P22). Also downloads and uploads 256 MiB through the other node.
 */
async function proxied({ nodes }: World): Promise<void> {
  const { child: source, ready: page } = await forked<{ port: number }>('tunnel-peer.ts', 'source')
  const { child: device, ready } = await forked<DeviceReady>(
    'tunnel-device.ts',
    nodes.hubs[1]!.url,
    nodes.token,
  )
  const { child: client } = await forked('stream-client.ts')
  const { jwt, url } = await nodes.at(0)('devices_IssueHttpProxyToken', {
    deviceId: ready.deviceId,
    port: page.port,
  })
  const headers = { host: new URL(url).host, cookie: `__Host-muster-device=${jwt}` }
  const at = (node: number): Target => ({ port: nodes.hubs[node]!.port, isTls: false, headers })
  const runs: { same: GetsRun[]; other: GetsRun[] } = { same: [], other: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, node] of [
      ['same', 1],
      ['other', 0],
    ] as const)
      runs[name].push(await smallPages(client, at(node)))
  const figure = (name: keyof typeof runs, key: 'p50Ms' | 'p99Ms'): number =>
    median(runs[name].map(run => run[key]))
  for (const name of ['same', 'other'] as const)
    report(
      `small page, ${name} node`,
      `p50 ${figure(name, 'p50Ms').toFixed(2)} ms, p99 ${figure(name, 'p99Ms').toFixed(2)} ms`,
    )
  reportBeyond('small page', figure('other', 'p99Ms') - figure('same', 'p99Ms'))
  await smallForwards(nodes, ready.deviceId)
  const bytes = 256 * 1024 ** 2
  for (const isUpload of [false, true]) {
    const { isSame, secs } = await ask<{ isSame: boolean; secs: number }>(client, {
      transfer: { target: at(0), bytes, isUpload },
    })
    const rate = `${(bytes / 1e6 / secs).toFixed(0)} MB/s`
    reportGoal('', `256 MiB ${isUpload ? 'up' : 'down'} through another node`, rate, 'bytes equal', isSame)
  }
  for (const child of [source, device, client]) child.disconnect()
}

function reportBeyond(what: string, beyondMs: number): void {
  const measured = `${beyondMs.toFixed(2)} ms`
  reportGoal('P22', `${what}, p99 at another node beyond`, measured, '<= 5 ms', beyondMs <= 5)
}

/** Measures how long a small message to an echo service of a device takes over a forward that enters at the same or at another node. */
async function smallForwards(nodes: Nodes, deviceId: string): Promise<void> {
  await using echo = await echoService()
  const { token } = await newMember(nodes)
  const runs: Record<'same' | 'other', number[][]> = { same: [], other: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, at] of [
      ['same', 1],
      ['other', 0],
    ] as const) {
      await using line = await connectPerson(nodes.hubs[at]!.url, token)
      const channel = await line.open(forwardTo(deviceId, echo.port))
      const times: number[] = []
      const fromMs = performance.now()
      for (let n = 0; n < SMALL_PER_SEC * SMALL_SECS; n++) {
        const dueMs = fromMs + (n * 1000) / SMALL_PER_SEC
        await pause(Math.max(0, dueMs - performance.now()))
        await channel.write(Buffer.alloc(SMALL_BYTES))
        for (let bytes = 0; bytes < SMALL_BYTES; ) bytes += (await channel.read())!.length
        times.push(performance.now() - dueMs)
      }
      runs[name].push(times.sort((a, b) => a - b))
    }
  const figure = (name: keyof typeof runs, share: number): number =>
    median(runs[name].map(times => quantile(times, share)))
  for (const name of ['same', 'other'] as const)
    report(
      `small message over a forward, ${name} node`,
      `p50 ${figure(name, 0.5).toFixed(2)} ms, p99 ${figure(name, 0.99).toFixed(2)} ms`,
    )
  reportBeyond('small message over a forward', figure('other', 0.99) - figure('same', 0.99))
}

/** Measures the time until another node shows that a device has connected or disconnected (docs/goals.md P21). */
async function presence({ nodes }: World): Promise<void> {
  const invoke = nodes.at(0)
  const opened: number[] = []
  const closed: number[] = []
  const first = await deviceAt(nodes, 1)
  const { deviceId, identity } = first
  const shows = (expected: boolean) =>
    until(
      'it is shown',
      async () => (await invoke('devices_GetDetails', { deviceId })).isConnected === expected,
      WAIT_MS,
    )
  let device = first
  for (let n = 0; n < TIMES; n++) {
    device.link.close('done')
    closed.push(await timeOf(shows(false)))
    const connecting = connectDevice({ url: nodes.hubs[1]!.url, token: nodes.token, identity })
    opened.push(await timeOf(Promise.all([connecting, shows(true)])))
    device = await connecting
  }
  await device[Symbol.asyncDispose]()
  for (const [name, times] of Object.entries({ Connected: opened, Disconnected: closed }))
    reportTimes('P21', `${name} shown on another node`, times, 1_000)
}

/** Measures the delay of changes and ended rights at other nodes: with the message bus, while the bus hangs, and while it is down. */
async function messages({ nodes }: World): Promise<void> {
  await using echo = await echoService()
  await using device = await deviceAt(nodes, 1)
  const { deviceId } = device
  await using live = await streamAt(nodes, 0, await newMember(nodes))
  const changes: number[] = []
  for (let n = 0; n < TIMES; n++) {
    const before = live.changes.length
    const shown = until(
      'the change is shown',
      () =>
        live.changes
          .slice(before)
          .some(change => change.topic === 'properties' && (change.deviceId ?? deviceId) === deviceId),
      WAIT_MS,
    )
    await device.invoke('devices_SetProperty', { deviceId, name: 'round', value: n })
    changes.push(await timeOf(shown))
  }
  reportTimes('', 'changes shown on another node', changes, 1_000)
  reportRights('rights that ended at another node', await endRights(nodes, echo.port), 1_000)

  const { messageCount, refusedChannels, effects } = await sendForeignIds(nodes, echo.port)
  reportGoal(
    '',
    'ids of another tenant',
    `${effects.length} effects of ${messageCount} messages, ${refusedChannels} channels refused`,
    '0 effects, 2 refused',
    effects.length === 0 && refusedChannels === 2,
  )

  nodes.carrier.freeze()
  const noticed = timeOf(allAre(nodes, 'degraded'))
  reportRights('the same, bus frozen', await endRights(nodes, echo.port), 5_000)
  report('frozen bus noticed after', `${((await noticed) / 1000).toFixed(1)} s`)
  await nodes.carrier.stop()
  reportRights('the same, bus away', await endRights(nodes, echo.port), 5_000)
  await nodes.carrier.start()
  const healedMs = await timeOf(allAre(nodes, 'ready'))
  reportGoal('', 'bus heals by itself', `${(healedMs / 1000).toFixed(1)} s`, '<= 15 s', healedMs <= 15_000)
}

/** Stops, restarts and kills nodes while devices publish 500 events a second and a browser uses the console (docs/goals.md P20, R5). */
async function disturbed({ nodes, client }: World): Promise<void> {
  await using folder = await newFolder()
  const browser = await launchBrowser()
  const user = await consoleUser(browser, nodes.front.url, nodes.cookie, nodes.project)
  await killNode(nodes, client)
  await rollNodes(nodes, client, 'rolling restart')
  const main = await nextBuild(folder)
  await rollNodes(nodes, client, 'rolling upgrade', main)
  await leaveOne(nodes, client, main)

  const seen = await user.stop()
  await browser.close()
  reportGoal(
    '',
    'pages of a console user',
    `${seen.loads} pages, ${seen.repeated.length} loaded again, ${seen.failed.length} failed`,
    '0 failed after a retry',
    seen.failed.length === 0,
  )
  for (const line of [...seen.repeated, ...seen.failed]) report('  page', line)
}

/** Compares the events that devices published in `secs` with the stored ones. */
async function reportLedger(nodes: Nodes, ledger: LedgerRun, secs: number): Promise<void> {
  const query = async (text: string, values?: unknown[]) => (await nodes.database.query(text, values)).rows
  const { acknowledged, missing, unknown } = await checkLedger({ query }, ledger)
  reportGoal(
    '',
    'acknowledged events',
    `${missing} lost, ${unknown} unknown of ${acknowledged}`,
    '0 lost, 0 unknown',
    missing + unknown === 0,
  )
  report('events reached', `${(acknowledged / secs).toFixed(0)} a second over ${secs.toFixed(0)} s`)
}

/** Kills a node in the middle of a forward and starts it again (docs/goals.md R5). */
async function killNode(nodes: Nodes, client: LoadClient): Promise<void> {
  const killed = 2
  await using echo = await echoService()
  await using device = await deviceAt(nodes, killed)
  await using line = await connectPerson(nodes.hubs[0]!.url, (await newMember(nodes)).token)
  const channel = await line.open(forwardTo(device.deviceId, echo.port))
  await channel.write(Buffer.from('hello'))
  await channel.read()
  const { rows } = await nodes.database.query<{ node_id: string }>(
    `select node_id from cluster_node where name = 'node-3' and left_at is null`,
  )
  const nodeId = rows[0]!.node_id
  nodes.hubs[killed]!.kill('SIGKILL')
  const forwardEnded = forwardEnd(channel)
  const forward = timeOf(forwardEnded)
  const shown = timeOf(
    until(
      'the node is shown as dead',
      async () => !(await nodes.at(0)('cluster_GetDetails', {})).nodes.some(node => node.nodeId === nodeId),
      WAIT_MS,
    ),
  )
  const closed = timeOf(
    until(
      'its connections are closed',
      async () => {
        const { rows: open } = await nodes.database.query(
          'select from device_connection where node_id = $1 and ended_at is null limit 1',
          [nodeId],
        )
        return open.length === 0
      },
      WAIT_MS,
    ),
  )
  const forwardMs = await forward
  reportGoal(
    'R5',
    'forward through a killed node ends',
    `${forwardMs.toFixed(0)} ms, ${await forwardEnded}`,
    '<= 10 s, error',
    forwardMs <= 10_000 && (await forwardEnded) === 'error',
  )
  await reportAbsences('R5', 'devices of a killed node', client)
  const shownMs = await shown
  reportGoal(
    'R5',
    'killed node shown as dead',
    `${(shownMs / 1000).toFixed(1)} s`,
    '<= 15 s',
    shownMs <= 15_000,
  )
  report('its connections closed', `${((await closed) / 1000).toFixed(1)} s`)
  await nodes.start(killed)
  const takesMs = await timeOf(takesDevices(nodes, killed))
  reportGoal('R5', 'it takes devices again', `${(takesMs / 1000).toFixed(1)} s`, '<= 10 s', takesMs <= 10_000)
}

/** Stops and starts one node after the other. */
async function rollNodes(nodes: Nodes, client: LoadClient, name: string, main?: string): Promise<void> {
  const stopSecs: number[] = []
  const startSecs: number[] = []
  for (const at of nodes.hubs.keys()) {
    nodes.hubs[at]!.kill('SIGTERM')
    stopSecs.push((await timeOf(nodes.hubs[at]!.exited)) / 1000)
    startSecs.push((await timeOf(nodes.start(at, main))) / 1000)
    await takesDevices(nodes, at)
  }
  const slowest = Math.max(...stopSecs)
  reportGoal(
    'P20',
    `${name}: nodes stop`,
    stopSecs.map(secs => `${secs.toFixed(1)} s`).join(', '),
    '<= 10 s',
    slowest <= 10,
  )
  report(`${name}: nodes start`, startSecs.map(secs => `${secs.toFixed(1)} s`).join(', '))
  await reportAbsences('', `${name}: devices`, client)
}

/** Kills a node, restarts it, and then stops the other nodes, so that only the node remains that the proxy has marked as failed. */
async function leaveOne(nodes: Nodes, client: LoadClient, main: string): Promise<void> {
  nodes.hubs[0]!.kill('SIGKILL')
  await nodes.hubs[0]!.exited
  await nodes.start(0, main)
  await takesDevices(nodes, 0)
  const others = [1, 2].map(at => nodes.hubs[at]!)
  for (const hub of others) hub.kill('SIGTERM')
  await Promise.all(others.map(hub => hub.exited))
  await reportAbsences('', 'one node killed and started, others stopped', client)
  await Promise.all([1, 2].map(at => nodes.start(at, main)))
}

/** Resolves when the proxy sends new devices to a node. */
async function takesDevices(nodes: Nodes, at: number): Promise<void> {
  const { certificatePem: cert, keyPem: key } = createCertificate('bench')
  await until(
    'the node takes devices',
    async () => {
      await using device = await connectDevice({
        url: nodes.front.url,
        token: nodes.token,
        headers: { 'x-client-cert': undefined },
        tls: { cert, key },
      })
      return (await nodes.holderOf(device.deviceId)) === at
    },
    WAIT_MS,
  )
}

/** Waits until all devices are connected, and reports how long they were disconnected. */
async function reportAbsences(id: string, name: string, client: LoadClient): Promise<void> {
  const absencesMs: number[] = []
  let failures = 0
  await until(
    'all devices are back',
    async () => {
      const run = await client.ask<AbsencesRun>({ absences: true })
      absencesMs.push(...run.absencesMs)
      failures += run.failures
      if (run.away > 0) await pause(200)
      return run.away === 0 && absencesMs.length > 0
    },
    WAIT_MS,
  )
  absencesMs.sort((a, b) => a - b)
  const [p50, p99, longest] = [0.5, 0.99, 1].map(share => quantile(absencesMs, share) / 1000) as [
    number,
    number,
    number,
  ]
  const figures = `p50 ${p50.toFixed(1)} s, p99 ${p99.toFixed(1)} s, longest ${longest.toFixed(1)} s`
  const measured = `${absencesMs.length} back, ${figures}, ${failures} tries failed`
  reportGoal(id, name, measured, 'all <= 30 s', longest <= 30)
}

/** Compares the rates of connects, events and queries of one node and of three nodes. The load clients run on the same cores. */
async function growth(nodes: Nodes): Promise<void> {
  const others = [1, 2].map(at => nodes.hubs[at]!)
  for (const hub of others) hub.kill('SIGTERM')
  await Promise.all(others.map(hub => hub.exited))
  const one = await carried(nodes, [0, 0, 0])
  await Promise.all([1, 2].map(at => nodes.start(at)))
  await onBus(nodes)
  const three = await carried(nodes, [0, 1, 2])
  for (const name of ['connects', 'events', 'queries'] as const) {
    const [alone, together] = [one[name], three[name]]
    report(
      `${name}, one node and three`,
      `${alone.perSec.toFixed(0)} and ${together.perSec.toFixed(0)} a second: x${(together.perSec / alone.perSec).toFixed(2)}; ` +
        `${alone.microsecs.toFixed(0)} and ${together.microsecs.toFixed(0)} us of nodes each`,
    )
  }
}

type Carried = Record<'connects' | 'events' | 'queries', { perSec: number; microsecs: number }>

/** Loads the nodes with three load clients. `targets` has the index of the node for each client. */
async function carried(nodes: Nodes, targets: readonly number[]): Promise<Carried> {
  const running = [...new Set(targets)].map(at => nodes.hubs[at]!.pid)
  const costed = async (work: () => Promise<{ count: number; secs: number }>) => {
    const used = (): number => running.reduce((sum, pid) => sum + treeProcessorSecs(pid), 0)
    const before = used()
    const { count, secs } = await work()
    return { perSec: count / secs, microsecs: ((used() - before) / count) * 1e6 }
  }
  const clients = targets.map(() => startLoadClient())
  const { devices: count, publishing, window, secs, connections } = GROWTH
  const connects = await costed(async () => {
    const runs = await Promise.all(
      clients.map((client, at) => {
        const { url } = nodes.hubs[targets[at]!]!
        return client.ask<ConnectRun>({ connect: { url, token: nodes.token, count, parallel: PARALLEL } })
      }),
    )
    return { count: count * clients.length, secs: Math.max(...runs.map(run => run.secs)) }
  })
  const events = await costed(async () => {
    const runs = await Promise.all(
      clients.map(client => client.ask<PublishRun>({ publish: { secs, devices: publishing, window } })),
    )
    return {
      count: runs.reduce((sum, run) => sum + run.acknowledged, 0),
      secs: Math.max(...runs.map(run => run.secs)),
    }
  })
  await Promise.all(clients.map(client => client.end()))
  const readers = await Promise.all(targets.map(() => forked('http-client.ts')))
  const queries = await costed(async () => {
    const runs = await Promise.all(
      readers.map(({ child }, at) => {
        const { port, url } = nodes.hubs[targets[at]!]!
        const load: HttpLoad = {
          host: '127.0.0.1',
          port,
          path: '/api/v1/actions/invoke/projects_QueryDevices',
          headers: { origin: url.replace('http:', 'https:'), cookie: nodes.cookie },
          body: JSON.stringify({ projectId: nodes.project.projectId, limit: 50 }),
          connections,
          secs,
        }
        return ask<HttpRun>(child, load)
      }),
    )
    const refused = runs.flatMap(run => Object.keys(run.statuses)).filter(status => status !== '200')
    if (refused.length > 0) throw new Error(`queries were answered ${refused}`)
    return { count: runs.reduce((sum, run) => sum + run.answers, 0), secs }
  })
  for (const { child } of readers) child.disconnect()
  return { connects, events, queries }
}

/** Measures the start of a node on a database with 100,000 devices (docs/goals.md P20). */
async function starts(nodes: Nodes): Promise<void> {
  const query = async (text: string, values?: unknown[]) => (await nodes.database.query(text, values)).rows
  await seedDevices({ query }, nodes.project.projectId, SEEDED_DEVICES)
  const times: number[] = []
  for (let n = 0; n < STARTS; n++) {
    nodes.hubs[2]!.kill('SIGTERM')
    await nodes.hubs[2]!.exited
    times.push(await timeOf(nodes.start(2)))
  }
  reportTimes('P20', `start with ${SEEDED_DEVICES} devices`, times, 2_000)
}

/** Waits until `/readyz` of every node reports the expected status. */
async function allAre({ hubs }: Nodes, expected: string): Promise<void> {
  await until(
    `all nodes are ${expected}`,
    async () => {
      const answers = await Promise.all(hubs.map(hub => fetch(`${hub.url}/readyz`)))
      const states = await Promise.all(
        answers.map(async answer => ((await answer.json()) as { status: string }).status),
      )
      return states.every(state => state === expected)
    },
    WAIT_MS,
  )
}

function reportTimes(id: string, name: string, times: number[], gateMs: number): void {
  const sorted = times.toSorted((a, b) => a - b)
  const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
  const measured = `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms of ${times.length}`
  reportGoal(id, name, measured, `p99 <= ${gateMs} ms`, p99 <= gateMs)
}

function reportRights(name: string, times: Record<string, number>, gateMs: number): void {
  const slowest = Math.max(...Object.values(times))
  const measured = Object.entries(times).map(([right, ms]) => `${right} ${ms.toFixed(0)}`)
  reportGoal('', name, `${measured.join(', ')} ms`, `<= ${gateMs} ms`, slowest <= gateMs)
}

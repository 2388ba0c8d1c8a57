import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { newDatedId } from '@muster/actions'
import { readPredicate } from '@muster/predicates'
import { connectDevice, type FakeDevice } from '@muster/testkit/device'
import { ask, forked, median, quantile } from './child.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import { EVENT_DAYS, EVENT_DEVICES, seedDevices, seedEvents } from './list-seed.ts'
import { visitDevices } from './list-visits.ts'
import { runText } from './people.ts'
import { treeProcessorSecs } from './processes.ts'
import type { BareStatement } from './statement-server.ts'
import { report, reportGoal } from './yardsticks.ts'

const DEVICES = 100_000
const DEFAULT_EVENTS = 2_000_000
const VISITS = 50
const ROUNDS = 3
const SECS = 5
const CONNECTIONS = 16
const PAGE_SIZE = 50
const LATEST_EVENTS = 10

/**
 * Bare statement for one page in the middle of a device list, with the columns and the sort order of the action
 * `projects_QueryDevices`.
 */
const PAGE = `
  select device_id, name, hostname, first_seen, is_connected, pending_certificates, health, last_connected_at from device
   where project_id = $1 and (first_seen, device_id) > ($2, $3) order by first_seen, device_id limit ${PAGE_SIZE}`

/** Predicates of three conditions: the index of values serves the first, and no condition of the second. */
const PREDICATES = [
  ['three conditions with an index', 'site = "site 7" and floor < 60 and device.connected'],
  ['three conditions without one', 'floor != 4 and site contains "99" and version contains "19"'],
] as const

/**
 * Measures the lists of a large hub (docs/goals.md P15 and P16). Compares a page of a list of 100,000 devices with a bare SQL statement
 * for the same rows. Also measures the device list in a browser and the latest events of a device. Last, it measures how long the hub
 * takes to acknowledge an event while the partition of a day is dropped. Arguments: number of events (default 2,000,000; the goal is
 * set for 20,000,000) and number of page visits in the browser (default 50).
 */
export async function lists(events = String(DEFAULT_EVENTS), visits = String(VISITS)): Promise<void> {
  // Builds the console before the hub starts, because the hub serves the files that it finds at its start.
  await import('../tools/build-console.ts')
  await using hub = await startBenchHub()
  const [project] = (await hub.query('select project_id, name from project limit 1')) as {
    project_id: string
    name: string
  }[]
  const { project_id: projectId, name } = project!
  await seedDevices(hub, projectId, DEVICES)
  report('devices', `${DEVICES}`)
  await measurePages(hub, projectId)
  await measureVisits(hub, { projectId, name }, Number(visits))
  await seedEvents(hub, Number(events))
  await measureEvents(hub)
  await measureDrop(hub)
}

async function measurePages(hub: BenchHub, projectId: string): Promise<void> {
  const { child: client } = await forked('http-client.ts')
  const [middle] = await hub.query(
    `select first_seen::text, device_id from device where project_id = $1 order by first_seen, device_id offset ${DEVICES / 2} limit 1`,
    [projectId],
  )
  const values = [projectId, middle!.first_seen, middle!.device_id]
  const { peer, load: bare } = await bareServer(hub, [{ text: PAGE, values }])
  const cookie = await signIn(hub)
  const cursor = Buffer.from(JSON.stringify(['firstSeen', ...values.slice(1)])).toString('base64url')
  const page = queryLoad(hub, cookie, 'projects_QueryDevices', { projectId, limit: PAGE_SIZE, cursor })
  const firstPage = queryLoad(hub, cookie, 'projects_QueryDevices', { projectId, limit: PAGE_SIZE })
  const summary = queryLoad(hub, cookie, 'projects_GetSummary', { projectId, maxBins: 200 })
  const { least, ratio, own } = await besideBare(client, hub, { peer, load: bare, name: 'bare page, c=16' }, [
    'projects_QueryDevices, c=16',
    page,
  ])
  reportGoal(
    'P15',
    'page of 50 at c=16',
    `p99 ${own.p99Ms.toFixed(1)} ms, x${ratio.toFixed(1)}`,
    '<= x2.0',
    ratio <= 2,
  )
  for (const sort of ['name', 'problems', '=version', '=site', '-=floor', 'lastSeenAt', '-lastSeenAt']) {
    const sorted = queryLoad(hub, cookie, 'projects_QueryDevices', {
      projectId,
      limit: PAGE_SIZE,
      sort,
      countTotal: false,
    })
    const run = await ask<HttpRun>(client, { ...sorted, connections: 1 })
    report(
      `first page by ${sort}, c=1`,
      `${runText(run)}; x${(run.p99Ms / least.p99Ms).toFixed(1)} of the bare page`,
    )
  }
  await measurePredicates(client, hub, cookie, projectId)
  report('first page with total, c=1', runText(await ask<HttpRun>(client, { ...firstPage, connections: 1 })))
  report('first page with total, c=16', runText(await ask<HttpRun>(client, firstPage)))
  report('projects_GetSummary, c=1', runText(await ask<HttpRun>(client, { ...summary, connections: 1 })))
  peer.disconnect()
  client.disconnect()
}

/** Measures pages by predicates beside the page of all devices, in turn, on one connection each. */
async function measurePredicates(
  client: ChildProcess,
  hub: BenchHub,
  cookie: string,
  projectId: string,
): Promise<void> {
  const firstPage = (filter?: object): HttpLoad => ({
    ...queryLoad(hub, cookie, 'projects_QueryDevices', {
      projectId,
      limit: PAGE_SIZE,
      filter,
      countTotal: false,
    }),
    connections: 1,
    secs: 2,
  })
  const loads = [
    ['all devices', firstPage()] as const,
    ...PREDICATES.map(([name, where]) => [name, firstPage({ predicate: readPredicate(where) })] as const),
  ]
  const runs = loads.map((): HttpRun[] => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, [, load]] of loads.entries()) runs[at]!.push(await ask<HttpRun>(client, load))
  const p95s = runs.map(ofLoad => median(ofLoad.map(run => run.p95Ms)))
  for (const [at, [name]] of loads.entries())
    report(
      `first page by ${name}, c=1`,
      `${runText(middleRun(runs[at]!))}; p95 x${(p95s[at]! / p95s[0]!).toFixed(1)} of all devices`,
    )
}

type BareServer = { peer: ChildProcess; load: HttpLoad }

/** Starts a server that only runs these statements in turn, and makes the load for it. */
async function bareServer(hub: BenchHub, statements: BareStatement[]): Promise<BareServer> {
  const { child: peer, ready } = await forked<{ port: number }>(
    'statement-server.ts',
    JSON.stringify({ connection: hub.database, statements }),
  )
  const request = { host: '127.0.0.1', port: ready.port, path: '/', headers: {}, body: '{}' }
  return { peer, load: { ...request, connections: CONNECTIONS, secs: SECS } }
}

/** Measures an action and a bare server in turn, and prints both. Returns the runs with the median p99, and the ratio of these. */
async function besideBare(
  client: ChildProcess,
  hub: BenchHub,
  bare: BareServer & { name: string },
  [name, load]: [string, HttpLoad],
): Promise<{ least: HttpRun; own: HttpRun; ratio: number }> {
  const loads = { bare: bare.load, own: load }
  const runs = { bare: [] as HttpRun[], own: [] as HttpRun[] }
  const used = { bare: 0, own: 0 }
  // The database processes are children of the hub, so their CPU time is part of the hub's.
  const costs = {
    bare: () => treeProcessorSecs(bare.peer.pid!) + treeProcessorSecs(hub.databasePid()),
    own: () => treeProcessorSecs(hub.pid),
  }
  // Warm up, so that compilation is not measured.
  for (const load of Object.values(loads)) await ask(client, { ...load, secs: 2 })
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of ['bare', 'own'] as const) {
      const before = costs[side]()
      runs[side].push(await ask<HttpRun>(client, loads[side]))
      used[side] += costs[side]() - before
    }
  }
  const microsecs = (side: 'bare' | 'own'): string => {
    const answers = runs[side].reduce((sum, run) => sum + run.answers, 0)
    return `processor time ${Math.round((used[side] / answers) * 1e6)} us`
  }
  const [least, own] = [middleRun(runs.bare), middleRun(runs.own)]
  report(bare.name, `${runText(least)}; ${microsecs('bare')}`)
  report(name, `${runText(own)}; ${microsecs('own')}`)
  return { least, own, ratio: own.p99Ms / least.p99Ms }
}

async function measureVisits(
  hub: BenchHub,
  project: { projectId: string; name: string },
  count: number,
): Promise<void> {
  const { visits, codeBytes } = await visitDevices(hub, project, count)
  reportGoal(
    'P14',
    'JavaScript and CSS of the device list',
    `${(codeBytes / 1000).toFixed(1)} KB`,
    '<= 190 KB',
    codeBytes <= 190_000,
  )
  const gates: [keyof typeof visits, string, number][] = [
    ['open', 'first row after the click', 200],
    ['status', 'filter by status', 150],
    ['text', 'filter by text, after the typing', 150],
    ['condition', 'filter by a condition', 150],
    ['sort', 'sort by name', 150],
    ['sortProperty', 'sort by a property', 150],
    ['sortLastSeen', 'sort by last seen', 150],
  ]
  for (const [act, what, gateMs] of gates) {
    const p95Ms = quantile(visits[act], 0.95)
    const measured = `p50 ${median(visits[act]).toFixed(0)}, p95 ${p95Ms.toFixed(0)} ms`
    reportGoal('P15', what, measured, `p95 <= ${gateMs} ms`, p95Ms <= gateMs)
  }
}

async function measureEvents(hub: BenchHub): Promise<void> {
  const [row] = await hub.query('select count(*) from device_event')
  report('events', `${row!.count} of ${EVENT_DEVICES} devices in ${EVENT_DAYS} days`)
  const [device] = await hub.query('select device_id from device_event limit 1')
  const { child: client } = await forked('http-client.ts')
  const deviceId = device!.device_id as string
  const load = queryLoad(hub, await signIn(hub), 'devices_QueryEvents', { deviceId, limit: LATEST_EVENTS })
  const bare = await bareServer(hub, await latestStatements(hub, deviceId))
  const { own, ratio } = await besideBare(client, hub, { ...bare, name: 'three bare statements, c=16' }, [
    'devices_QueryEvents, c=16',
    load,
  ])
  reportGoal(
    'P16',
    `latest ${LATEST_EVENTS} events at c=16`,
    `p99 ${own.p99Ms.toFixed(1)} ms, x${ratio.toFixed(1)}`,
    'p99 <= x2.0',
    ratio <= 2,
  )
  bare.peer.disconnect()
  client.disconnect()
}

/** The least statements that an answer with the latest events of a device needs: session, rights on the device, and events. */
async function latestStatements(hub: BenchHub, deviceId: string): Promise<BareStatement[]> {
  const [session] = await hub.query('select session_id, user_id from session limit 1')
  // As a parameter the day would make PostgreSQL lock the partitions of all days.
  const fromDay = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10)
  return [
    {
      text: `select s.token_hash, s.created_at, u.user_id, u.is_admin from session s join "user" u using (user_id)
              where s.session_id = $1 and s.expires_at > now() and u.is_active`,
      values: [session!.session_id],
    },
    {
      text: `select p.organization_id, p.project_id, m.is_admin from device d join project p using (project_id)
               left join organization_member m on m.organization_id = p.organization_id and m.user_id = $2
              where d.device_id = $1`,
      values: [deviceId, session!.user_id],
    },
    {
      text: `select event_id, category, severity, body, attributes, emitted_at, received_at from device_event
              where device_id = $1 and event_day >= date '${fromDay}'
              order by emitted_at desc, event_id desc limit ${LATEST_EVENTS}`,
      values: [deviceId],
    },
  ]
}

/**
 * Measures devices that publish one event after the other while the oldest day of events is dropped. An hourly job of the hub calls
 * the same SQL function, `maintain_partitions`.
 */
async function measureDrop(hub: BenchHub): Promise<void> {
  const devices = await Promise.all(
    Array.from({ length: 8 }, () => connectDevice({ url: hub.url, token: hub.token })),
  )
  const stop = new AbortController()
  const publishing = devices.map(device => longestAnswer(device, stop.signal))
  await pause(2_000)
  const started = performance.now()
  await hub.query('select maintain_partitions($1)', [EVENT_DAYS - 2])
  const dropMs = performance.now() - started
  await pause(1_000)
  stop.abort()
  const longestMs = Math.max(...(await Promise.all(publishing)))
  for (const device of devices) await device[Symbol.asyncDispose]()
  report('dropping a day', `${dropMs.toFixed(0)} ms`)
  reportGoal(
    'P16',
    'longest acknowledgement while a day is dropped',
    `${longestMs.toFixed(0)} ms`,
    '<= 250 ms',
    longestMs <= 250,
  )
}

/** Publishes events until aborted; resolves to the longest time to an acknowledgement, in milliseconds. */
async function longestAnswer({ deviceId, invoke }: FakeDevice, end: AbortSignal): Promise<number> {
  let longestMs = 0
  while (!end.aborted) {
    const sent = performance.now()
    const emittedAt = new Date().toISOString()
    const event = { eventId: newDatedId('d_ev'), severity: 'Info', body: 'x', attributes: {}, emittedAt }
    await invoke('devices_PublishEvents', { deviceId, events: [event] })
    longestMs = Math.max(longestMs, performance.now() - sent)
  }
  return longestMs
}

function queryLoad(hub: BenchHub, cookie: string, action: string, input: object): HttpLoad {
  return {
    ...requestTo(hub, `/api/v1/actions/invoke/${action}`, input, cookie),
    connections: CONNECTIONS,
    secs: SECS,
  }
}

/** The run with the median p99. */
function middleRun(runs: HttpRun[]): HttpRun {
  return runs.toSorted((a, b) => a.p99Ms - b.p99Ms)[Math.floor(runs.length / 2)]!
}

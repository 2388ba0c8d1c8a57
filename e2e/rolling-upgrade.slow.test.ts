import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { expect, it } from 'vitest'
import { launchBrowser } from './browser.ts'
import { consoleUser } from './console-user.ts'
import { MAIN, newFolder } from './hub-child.ts'
import { type Nodes, nextBuild, startNodes } from './nodes.ts'
import { StormDevice } from './storm-device.ts'

const DEVICES = 40
/** Number of these devices that publish an event every `PAUSE_MS`. */
const REPORTING = 20
const PAUSE_MS = 50
/** Pause between two actions of the person who uses the API, in milliseconds. */
const INVOKE_PAUSE_MS = 25
/** Longest time of 99 of 100 actions, in milliseconds. */
const P99_MS = 1_000
/** Longest time for which a device may be disconnected, in milliseconds. */
const BACK_MS = 30_000
/** Time between the start of a node and the stop of the next one, in milliseconds: the proxy has to find it. */
const BETWEEN_MS = 3_000

/**
 * Entry file of an earlier release from which the nodes are upgraded to this one. Without it, they are upgraded from this one to a copy
 * with a further migration.
 */
const PREVIOUS = process.env.MUSTER_TEST_PREVIOUS
  ? join(process.env.MUSTER_TEST_PREVIOUS, 'apps/hub/muster-hub.js')
  : undefined

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'

/** Runs an action through the proxy again and again until `stop` is called, over connections that stay open. */
function apiUser({ front, cookie, project }: Nodes) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false })
  const body = JSON.stringify({ projectId: project.projectId })
  const seen = { latenciesMs: [] as number[], failures: [] as string[] }
  let isOver = false
  const once = (): Promise<number> =>
    new Promise((done, failed) => {
      const url = `${front.url}/api/v1/actions/invoke/projects_GetDetails`
      const headers = { 'content-type': 'application/json', cookie, origin: front.url }
      request(url, { method: 'POST', agent, headers }, answer => {
        answer.resume()
        answer.once('end', () => done(answer.statusCode!))
      })
        .once('error', failed)
        .end(body)
    })
  const running = (async () => {
    while (!isOver) {
      const fromMs = performance.now()
      const status = await once().catch((error: Error) => error.message)
      seen.latenciesMs.push(performance.now() - fromMs)
      if (status !== 200) seen.failures.push(String(status))
      await sleep(INVOKE_PAUSE_MS)
    }
  })()
  return {
    async stop() {
      isOver = true
      await running
      agent.destroy()
      return seen
    },
  }
}

it.for([
  ['PostgreSQL', 'nginx'],
  ['NATS', 'haproxy'],
] as const)(
  'goal R12: three nodes with %s as bus, behind %s, are upgraded one after the other without an error to devices or people',
  { timeout: 240_000 },
  async ([carrierKind, program], context) => {
    const programs = carrierKind === 'NATS' ? ([program, 'nats-server'] as const) : ([program] as const)
    if (!hasPrograms(...programs)) return context.skip(`needs ${programs.join(' and ')}`)
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(await newFolder())
    const [build, browser, nodes] = await Promise.all([
      PREVIOUS ? MAIN : nextBuild(folder),
      launchBrowser(),
      startNodes(carrierKind, program, {}, PREVIOUS),
    ])
    stack.defer(() => browser.close())
    stack.use(nodes)
    const fleet: StormDevice[] = []
    for (let n = 0; n < DEVICES; n++)
      fleet.push(stack.use(await StormDevice.connect(nodes.front.url, nodes.token)))
    const reporting = fleet.slice(0, REPORTING)
    const reports = Promise.all(reporting.map(device => device.report(PAUSE_MS)))
    reports.catch(() => {})
    for (const device of fleet) void device.stay()
    const clicking = await consoleUser(browser, nodes.front.url, nodes.cookie, nodes.project)
    const calling = apiUser(nodes)
    await sleep(BETWEEN_MS)

    for (const at of [0, 1, 2]) {
      nodes.hubs[at]!.kill('SIGTERM')
      expect(await nodes.hubs[at]!.exited).toEqual({ code: 0, signal: null })
      await nodes.start(at, build)
      await sleep(BETWEEN_MS)
    }
    const counts = reporting.map(({ acknowledged }) => acknowledged.length)
    await until('events are still acknowledged', () =>
      reporting.every(({ acknowledged }, at) => acknowledged.length > counts[at]!),
    )
    for (const device of fleet) device.stop()
    await reports
    const [pages, calls] = await Promise.all([clicking.stop(), calling.stop()])

    const acknowledged = reporting.flatMap(device => device.acknowledged)
    const { rows } = await nodes.database.query<{ event_id: string }>(
      'select event_id from device_event where device_id = any($1)',
      [reporting.map(({ deviceId }) => deviceId)],
    )
    const stored = new Set(rows.map(({ event_id }) => event_id))
    const absencesMs = fleet.flatMap(device => device.absencesMs)
    const p99Ms = calls.latenciesMs.toSorted((a, b) => a - b)[Math.floor(calls.latenciesMs.length * 0.99)]!
    process.stdout.write(
      `${program}: ${calls.latenciesMs.length} actions, p99 ${p99Ms.toFixed(0)} ms, ${calls.failures.length} failed; ` +
        `${pages.loads} pages, ${pages.repeated.length} repeated; ${acknowledged.length} events; ` +
        `${absencesMs.length} reconnects within ${Math.max(...absencesMs).toFixed(0)} ms, ` +
        `${fleet.reduce((sum, { refusals }) => sum + refusals, 0)} refusals\n`,
    )
    expect(calls.failures).toEqual([])
    expect(p99Ms).toBeLessThan(P99_MS)
    expect([pages.failed, pages.repeated]).toEqual([[], []])
    expect(acknowledged.filter(id => !stored.has(id))).toEqual([])
    expect(stored.size).toBe(rows.length)
    expect(Math.max(...absencesMs)).toBeLessThan(BACK_MS)
  },
)

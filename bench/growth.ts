import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, forked } from './child.ts'
import { untilSealed } from './fleet.ts'
import { type Growth, growthPicture } from './growth-picture.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import { BUSY_DEVICES } from './ingest.ts'
import type { PublishRun } from './load-client.ts'
import { treeProcessorSecs } from './processes.ts'
import {
  COLLECTS_GARBAGE,
  type LoadClient,
  report,
  residentAfterCollection,
  startLoadClient,
} from './yardsticks.ts'

/** Figures of earlier runs, by the number of devices. A run replaces those of its sizes, so that a slow machine can measure size by size. */
const FIGURES = join(import.meta.dirname, '../docs/images/growth.json')
const PICTURE = join(import.meta.dirname, '../docs/images/growth.svg')

const PARALLEL = 64
const EVENT_SECS = 4
const QUERY_SECS = 3
const IDLE_SECS = 10
/** Time in milliseconds after which a device that has not reconnected counts as lost. */
const LOST_MS = 120_000

/**
 * Measures how the costs of a hub grow with its devices, and draws them (docs/scaling.md, "Growth"). One hub gets more and more devices over
 * plain connections. Argument: the numbers of devices, ascending and separated by commas.
 */
export async function growth(sizes = '100,300,1000,3000,10000'): Promise<void> {
  await using hub = await startBenchHub({ NODE_OPTIONS: COLLECTS_GARBAGE.join(' ') })
  const client = startLoadClient()
  const { child: http } = await forked('http-client.ts')
  const known = JSON.parse(await readFile(FIGURES, 'utf8').catch(() => '{}')) as Record<string, Growth>
  let connected = 0
  for (const devices of sizes.split(',').map(Number)) {
    const connect = { url: hub.url, token: hub.token, parallel: PARALLEL, count: devices - connected }
    await client.ask({ connect })
    connected = devices
    known[devices] = await measure(hub, client, http, devices)
    await writeFile(FIGURES, `${JSON.stringify(known, null, 2)}\n`)
    await writeFile(PICTURE, growthPicture(known))
  }
  http.disconnect()
  await client.end()
}

async function measure(
  hub: BenchHub,
  client: LoadClient,
  http: Awaited<ReturnType<typeof forked>>['child'],
  devices: number,
): Promise<Growth> {
  /** Processor time of hub and database while `work` runs, in seconds. */
  const used = async <Result>(work: () => Promise<Result>): Promise<{ secs: number; result: Result }> => {
    const before = treeProcessorSecs(hub.pid)
    const result = await work()
    return { result, secs: treeProcessorSecs(hub.pid) - before }
  }
  await hub.kill()
  const back = client.ask({ reconnect: { parallel: PARALLEL, resumes: false, giveUpMs: LOST_MS } })
  await hub.start()
  const returned = await used(() => back)

  const load = { secs: EVENT_SECS, devices: Math.min(devices, BUSY_DEVICES), window: 1 }
  const events = await used(() => client.ask<PublishRun>({ publish: load }))

  const [project] = await hub.query('select project_id from project limit 1')
  const input = { projectId: project!.project_id, limit: 50 }
  const request = requestTo(hub, '/api/v1/actions/invoke/projects_QueryDevices', input, await signIn(hub))
  const page: HttpLoad = { ...request, connections: 16, secs: QUERY_SECS }
  await ask(http, { ...page, secs: 1 })
  const pages = await used(() => ask<HttpRun>(http, page))

  await untilSealed(hub)
  const memoryKib = await residentAfterCollection(hub.pid)
  const idle = await used(() => pause(IDLE_SECS * 1000))
  const figures: Growth = {
    memoryMib: memoryKib / 1024,
    returnMs: (returned.secs / devices) * 1000,
    eventMicrosecs: (events.secs / events.result.acknowledged) * 1e6,
    pageMicrosecs: (pages.secs / pages.result.answers) * 1e6,
    idlePercent: (idle.secs / IDLE_SECS) * 100,
  }
  report(
    `${devices} devices`,
    Object.entries(figures)
      .map(([name, value]) => `${name} ${value.toFixed(1)}`)
      .join(', '),
  )
  return figures
}

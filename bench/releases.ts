import { ask, forked } from './child.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import { seedDevices, seedSoftware } from './list-seed.ts'
import { runText } from './people.ts'
import { report, reportGoal } from './yardsticks.ts'

const DEVICES = 100_000
const PROJECTS = 20
const VERSIONS = 50
/** One request in 2.5 s. The hub caches results for 2 s, so each request runs its queries. */
const PER_SEC = 0.4
const SECS = 30
const LIMIT_MS = 200

/**
 * Measures the actions of the pages of versions, packages and software (docs/goals.md P27). The hub has 100,000 devices in 20 projects
 * and 50 versions.
 */
export async function releases(): Promise<void> {
  await using hub = await startBenchHub()
  const [project] = (await hub.query('select project_id from project limit 1')) as { project_id: string }[]
  await seedDevices(hub, project!.project_id, DEVICES)
  const seeded = await seedSoftware(hub, PROJECTS, VERSIONS)
  report('devices', `${DEVICES} in ${PROJECTS} projects, ${VERSIONS} versions`)
  const { repositoryId, versionId, projectId } = seeded
  const cookie = await signIn(hub)
  await measure(hub, cookie, 'version page', 'repositories_GetVersionUsage', { versionId, history: true })
  await measure(hub, cookie, 'software page', 'projects_GetSoftware', { projectId })
  await measure(hub, cookie, 'package list', 'repositories_QueryPackageUsage', { repositoryId })
}

async function measure(
  hub: BenchHub,
  cookie: string,
  what: string,
  action: string,
  input: object,
): Promise<void> {
  const { child: client } = await forked('http-client.ts')
  const load: HttpLoad = {
    ...requestTo(hub, `/api/v1/actions/invoke/${action}`, input, cookie),
    connections: 1,
    secs: SECS,
    perSec: PER_SEC,
  }
  // Warms up, so that compilation is not measured.
  await ask(client, { ...load, secs: 5 })
  const run = await ask<HttpRun>(client, load)
  if (run.statuses['200'] !== run.answers) throw new Error(`${action}: ${runText(run)}`)
  report(action, runText(run))
  reportGoal(
    'P27',
    `${what}, counted anew`,
    `p95 ${run.p95Ms.toFixed(0)} ms`,
    `p95 <= ${LIMIT_MS} ms`,
    run.p95Ms <= LIMIT_MS,
  )
  client.disconnect()
}

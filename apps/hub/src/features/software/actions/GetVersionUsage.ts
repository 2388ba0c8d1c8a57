import type { HandlerOutput } from '@muster/actions'
import { isAuditedReader } from '../../../platform/access/visible.ts'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { KeptAnswers } from '../kept-answers.ts'
import { neighboursOf, releaseTags, tagMoves } from '../releases.ts'
import {
  countSoftware,
  hasVersion,
  keepSoftware,
  keptSoftware,
  type SoftwareCounts,
} from '../software-counts.ts'
import { readSeries, SAMPLE_STEP_SECS, samplesState, type VersionSeries } from '../software-samples.ts'
import { readFailures, type UpdateFailures } from '../update-failures.ts'
import { visibleProjects } from '../visible-projects.ts'

type Output = HandlerOutput<'repositories_GetVersionUsage'>
type Counts = NonNullable<Output['counts']> & { reportCount: number }

const NO_DEVICES: Counts = {
  deviceCount: 0,
  reportCount: 0,
  runs: 0,
  installs: 0,
  fails: 0,
  others: 0,
  unknown: 0,
}

/** Maximum number of projects in the answer. */
const MAX_PROJECTS = 100
/** Maximum number of projects in the answer that are listed because their devices follow a tag of the package. */
const MAX_FOLLOWING_PROJECTS = 10

/** Time, in milliseconds, for which the hourly numbers of the last 14 days are cached unless a new sample is stored. */
const SERIES_KEPT_MS = 60_000

const keptFailures = new KeptAnswers<UpdateFailures>()
const keptSeries = new KeptAnswers<{ series: VersionSeries | undefined }>(SERIES_KEPT_MS)

/**
 * Counts the devices that run, install or fail to install a version, in the projects that the caller can see. Also returns the reasons of
 * the failures, the tags of the package and hourly numbers of devices of the last 14 days. Counts are cached for 2 s.
 */
export const repositories_GetVersionUsage = handler(
  'repositories_GetVersionUsage',
  async ({ db, signal, caller, scope }, { versionId, history = false }) => {
    const packageId = scope.packageId!
    const { projects, count } = await visibleProjects(db, caller, scope)
    const projectIds = projects.map(({ projectId }) => projectId)
    const { reportedAs, newer, before } = await neighboursOf(db, versionId)
    const tags = await releaseTags(db, packageId, versionId)
    // The moves of tags are in the log of the repository, which needs the right to view it.
    const mayReadLog = scope.rights?.has('view') || isAuditedReader(caller, scope)
    const hereBefore = tags.find(tag => tag.version.versionId === versionId && tag.before)?.before
    const cameFrom = (mayReadLog ? hereBefore : undefined) ?? before
    const [counted, series] = await Promise.all([
      countWithin(db, signal, projectIds, versionId),
      history ? seriesWithin(db, signal, projectIds, versionId, cameFrom?.versionId) : undefined,
    ])
    const countsOf = new Map(
      [...(counted?.software ?? [])].map(([id, software]) => [id, usageOf(software, packageId, versionId)]),
    )
    const followers = followersOf(counted?.software, packageId)
    return {
      versionId,
      packageId,
      reportedAs,
      newer,
      before: before && { ...before, fails: counted && failsOf(counted.software, before.versionId) },
      counts: counted && sumOf([...countsOf.values()]),
      projects: projects
        .slice(0, MAX_PROJECTS)
        .map(project => ({ ...project, counts: countsOf.get(project.projectId) })),
      projectCount: count,
      countedProjectCount: projects.length,
      failures: (counted?.failures.reasons ?? []).map(row => ({
        error: row.error ?? undefined,
        deviceCount: row.devices,
        maxFailureCount: row.max_failure_count ?? undefined,
        lastReportedAt: row.last_reported_at ? wireTime(row.last_reported_at) : undefined,
        projects: row.projects,
        versions: row.versions,
      })),
      otherFailures: counted?.failures.otherReasons
        ? { reasonCount: counted.failures.otherReasons, deviceCount: counted.failures.otherDevices }
        : undefined,
      tags: tags.map(({ since, before: beforeTag, ...tag }) => ({
        ...tag,
        followers: counted && (followers.get(tag.tag) ?? { deviceCount: 0, connectedCount: 0, projects: [] }),
        ...(mayReadLog && { since: since && wireTime(since), before: beforeTag }),
      })),
      moves: mayReadLog
        ? (await tagMoves(db, packageId, versionId)).map(({ at, ...move }) => ({ ...move, at: wireTime(at) }))
        : [],
      series: series && {
        from: wireTime(new Date(series.fromSecs * 1000)),
        stepSecs: SAMPLE_STEP_SECS,
        counts: series.counts,
        compared: cameFrom && {
          versionId: cameFrom.versionId,
          name: cameFrom.name,
          counts: series.compared,
        },
      },
      tookTooLong: counted ? undefined : (true as const),
      isKept: counted?.isKept ? (true as const) : undefined,
    }
  },
)

/** Reads the hourly numbers of devices with a version in the last 14 days. Undefined if that takes longer than 2 s. */
async function seriesWithin(
  db: Db,
  signal: AbortSignal,
  projectIds: readonly string[],
  versionId: string,
  comparedId: string | undefined,
): Promise<VersionSeries | undefined> {
  return tryBrief(db, signal, async tx => {
    const state = await samplesState(tx, projectIds)
    const question = [versionId, comparedId, state, ...projectIds].join(' ')
    const kept = keptSeries.find(db, question)
    if (kept) return kept.series
    const series = await readSeries(tx, projectIds, versionId, comparedId)
    keptSeries.keep(db, question, { series })
    return series
  })
}

type Counted = { software: Map<string, SoftwareCounts>; failures: UpdateFailures; isKept: boolean }

/** Counts devices by software, and failures by reason. Only what is not cached is counted. Undefined if that takes longer than 2 s. */
async function countWithin(
  db: Db,
  signal: AbortSignal,
  projectIds: readonly string[],
  versionId: string,
): Promise<Counted | undefined> {
  const software = keptSoftware(db, projectIds)
  const missing = projectIds.filter(id => !software.has(id))
  const question = [versionId, ...projectIds].join(' ')
  const kept = keptFailures.find(db, question)
  if (missing.length === 0 && kept) return { software, failures: kept, isKept: true }
  return tryBrief(db, signal, async tx => {
    const counted = missing.length > 0 ? await countSoftware(tx, missing) : new Map<string, SoftwareCounts>()
    keepSoftware(db, counted)
    const failures = kept ?? (await readFailures(tx, projectIds, versionId))
    keptFailures.keep(db, question, failures)
    return { software: new Map([...software, ...counted]), failures, isKept: software.size > 0 }
  })
}

/** Numbers of devices of a project that run or install the version, fail to install it, or have another or an unknown version. */
function usageOf({ versions, aims }: SoftwareCounts, packageId: string, versionId: string): Counts {
  const usage = { ...NO_DEVICES }
  for (const version of versions) {
    const isOfPackage = version.packageId === packageId
    if (isOfPackage && hasVersion(version)) usage.reportCount += version.devices
    if (version.versionId === versionId) usage.runs += version.devices
    else if (isOfPackage && hasVersion(version)) usage.others += version.devices
    else if (!hasVersion(version) && (isOfPackage || (version.packageId === null && !version.isElsewhere)))
      usage.unknown += version.devices
  }
  for (const aim of aims) {
    if (aim.versionId !== versionId) continue
    usage[aim.doing === 'failed' ? 'fails' : 'installs'] += aim.devices
    usage[aim.hasVersion ? 'others' : 'unknown'] -= aim.devices
  }
  usage.deviceCount = usage.runs + usage.installs + usage.fails + usage.others + usage.unknown
  return usage
}

function sumOf(all: readonly Counts[]): Counts {
  const sum = { ...NO_DEVICES }
  for (const counts of all) for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += counts[key]
  return sum
}

function failsOf(software: Map<string, SoftwareCounts>, versionId: string): number {
  return [...software.values()]
    .flatMap(({ aims }) => aims)
    .filter(aim => aim.versionId === versionId && aim.doing === 'failed')
    .reduce((sum, { devices }) => sum + devices, 0)
}

type Followers = NonNullable<Output['tags'][number]['followers']>

function followersOf(
  software: Map<string, SoftwareCounts> | undefined,
  packageId: string,
): Map<string, Followers> {
  const byTag = new Map<string, Followers>()
  for (const [projectId, { followers }] of software ?? []) {
    for (const { packageId: of, tag, devices, connected } of followers) {
      if (of !== packageId) continue
      const known = byTag.get(tag) ?? { deviceCount: 0, connectedCount: 0, projects: [] }
      byTag.set(tag, known)
      known.deviceCount += devices
      known.connectedCount += connected
      known.projects.push({ projectId, deviceCount: devices })
    }
  }
  for (const known of byTag.values())
    known.projects = known.projects
      .toSorted((a, b) => b.deviceCount - a.deviceCount)
      .slice(0, MAX_FOLLOWING_PROJECTS)
  return byTag
}

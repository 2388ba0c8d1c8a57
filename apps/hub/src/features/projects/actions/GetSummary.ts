import { MAX_MARKED_DEVICES } from '@muster/actions'
import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { KeptAnswers } from '../../software/index.ts'
import {
  type Bin,
  countUpdateFailure,
  keepCounts,
  keptStatus,
  type ProjectCounts,
  STEP_SECS,
  type UpdateFailure,
} from '../project-status.ts'

/** Default number of bins. The console draws one mark for each bin, and 60 marks fit into its widest row of marks. */
const DEFAULT_MAX_BINS = 60

/** One digit for each device, joined to a string: 1 connected, 2 with pending certificates, 3 both, 0 neither. */
const STATES = sql<string | null>`string_agg(
  (is_connected::integer + 2 * (pending_certificates > 0)::integer)::text, '' order by first_seen, device_id)`

/**
 * Returns the device counts of a project, and its devices grouped into bins in the order in which they were first seen. The console draws
 * the bins as a device strip: a row with one mark for each bin. Counts of projects with many devices are cached for 2 s.
 */
export const projects_GetSummary = handler(
  'projects_GetSummary',
  async ({ db, signal }, { projectId, maxBins = DEFAULT_MAX_BINS, series: wantsSeries = false }) => {
    const { counts: kept, series, sampledFailure } = await keptStatus(db, projectId)
    const { counts, states, isShared } = kept
      ? { counts: kept, states: undefined, isShared: true }
      : await countOnce(db, projectId)
    const newest = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(['device_id', 'name', 'hostname', 'first_seen'])
      .orderBy('first_seen', 'desc')
      .orderBy('device_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    const { devices, connected, warnings, errors, pending } = counts
    const counted = await updateFailureOf(db, signal, projectId, devices)
    // A count that takes longer than 2 s is replaced by that of the sampling job, with its time.
    const failure = counted.failure === undefined ? sampledFailure : counted.failure
    const countedAtSecs = counted.failure === undefined ? sampledFailure?.countedAtSecs : undefined
    const isLarge = wantsSeries && devices > MAX_MARKED_DEVICES
    let { bins } = counts
    if (isLarge) bins = []
    else if (maxBins !== DEFAULT_MAX_BINS) bins = binsOf(states ?? (await readStates(db, projectId)), maxBins)
    return {
      projectId,
      deviceCount: devices,
      connectedCount: connected,
      // Connected devices and problems are counted by two queries. The difference may be negative if devices change between these queries.
      healthyCount: Math.max(0, connected - warnings - errors),
      warningCount: warnings,
      errorCount: errors,
      pendingCount: pending,
      newestDevice: newest && {
        deviceId: newest.device_id,
        name: newest.name ?? undefined,
        hostname: newest.hostname || undefined,
        firstSeen: wireTime(newest.first_seen),
      },
      bins,
      connectedSeries:
        wantsSeries && series
          ? {
              from: wireTime(new Date(series.fromSecs * 1000)),
              stepSecs: STEP_SECS,
              counts: series.counts,
            }
          : undefined,
      updateFailure: failure
        ? {
            targetVersion: failure.targetVersion ?? undefined,
            error: failure.error ?? undefined,
            deviceCount: failure.devices,
            countedAt: countedAtSecs === undefined ? undefined : wireTime(new Date(countedAtSecs * 1000)),
          }
        : undefined,
      isKept: isShared || counted.isKept ? (true as const) : undefined,
    }
  },
)

const keptFailures = new KeptAnswers<UpdateFailure | null>()

/**
 * The most frequent error of failed updates in a project, null without one. The result of a project with many devices is cached for 2 s.
 * Its `failure` is undefined if the count takes longer than 2 s.
 */
async function updateFailureOf(
  db: Db,
  signal: AbortSignal,
  projectId: string,
  devices: number,
): Promise<{ failure: UpdateFailure | null | undefined; isKept: boolean }> {
  if (devices === 0) return { failure: null, isKept: false }
  if (devices <= MAX_MARKED_DEVICES)
    return { failure: await countUpdateFailure(db, projectId), isKept: false }
  const kept = keptFailures.find(db, projectId)
  if (kept !== undefined) return { failure: kept, isKept: true }
  const failure = await tryBrief(db, signal, tx => countUpdateFailure(tx, projectId))
  if (failure !== undefined) keptFailures.keep(db, projectId, failure)
  return { failure, isKept: false }
}

type Counted = { counts: ProjectCounts; states: string }

/** Counts in flight, by database and project. Consoles that send the query at the same time share one count. */
const countsInFlight = new WeakMap<Db, Map<string, Promise<Counted>>>()

/**
 * Counts the devices of a project. If a count is already in flight, waits for that count, which may have begun before the latest change.
 */
async function countOnce(db: Db, projectId: string): Promise<Counted & { isShared: boolean }> {
  const inFlight = countsInFlight.get(db) ?? new Map<string, Promise<Counted>>()
  countsInFlight.set(db, inFlight)
  const begun = inFlight.get(projectId)
  const counting = begun ?? count(db, projectId).finally(() => inFlight.delete(projectId))
  if (!begun) inFlight.set(projectId, counting)
  return { ...(await counting), isShared: begun !== undefined }
}

async function count(db: Db, projectId: string): Promise<Counted> {
  const states = await readStates(db, projectId)
  // The index `device_by_problem` holds only devices that report a problem, so this does not read the healthy ones.
  const problems = await db
    .selectFrom('device')
    .where('project_id', '=', projectId)
    .where(sql<boolean>`health in ('degraded', 'error')`)
    .where('is_connected', '=', true)
    .select(['health', sql<number>`count(*)`.as('count')])
    .groupBy('health')
    .execute()
  const countOf = (health: string): number => problems.find(row => row.health === health)?.count ?? 0
  const bins = binsOf(states, DEFAULT_MAX_BINS)
  const sum = (key: keyof Bin): number => bins.reduce((total, bin) => total + bin[key], 0)
  const counts = {
    devices: sum('devices'),
    connected: sum('connected'),
    warnings: countOf('degraded'),
    errors: countOf('error'),
    pending: sum('pending'),
    bins,
  }
  await keepCounts(db, projectId, counts)
  return { counts, states }
}

/**
 * Reads the states of all devices in the order of `first_seen`, so that a device keeps its place in the console's device strip. The
 * states are aggregated into one string, because grouping with window functions takes three times as long.
 */
async function readStates(db: Db, projectId: string): Promise<string> {
  const { states } = await db
    .selectFrom('device')
    .where('project_id', '=', projectId)
    .select(STATES.as('states'))
    .executeTakeFirstOrThrow()
  return states ?? ''
}

/** Groups neighbouring devices evenly into bins. Up to `maxBins` devices get a bin each; more devices share `maxBins` bins. */
function binsOf(states: string, maxBins: number): Bin[] {
  const count = Math.min(states.length, maxBins)
  const bins = Array.from({ length: count }, () => ({ devices: 0, connected: 0, pending: 0 }))
  for (let at = 0; at < states.length; at++) {
    const bin = bins[Math.floor((at * count) / states.length)]!
    const state = Number(states[at])
    bin.devices++
    bin.connected += state & 1
    bin.pending += state >> 1
  }
  return bins
}

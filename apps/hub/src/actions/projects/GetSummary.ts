import { sql } from 'kysely'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** Default number of bins. The console draws one mark for each bin, and 60 marks fit into its widest row of marks. */
const DEFAULT_MAX_BINS = 60

/** String with one digit for each device: 1 connected, 2 with pending certificates, 3 both, 0 neither. */
const STATES = sql<string | null>`string_agg(
  (is_connected::integer + 2 * (pending_certificates > 0)::integer)::text, '' order by first_seen, device_id)`

/**
 * Returns the device counts of a project and its devices grouped into bins, ordered by the time when they were first seen. The
 * console draws the bins as a device strip: a row with one mark for each bin.
 */
export const projects_GetSummary = handler(
  'projects_GetSummary',
  async ({ db }, { projectId, maxBins = DEFAULT_MAX_BINS }) => {
    // `STATES` is in the order of `first_seen`, so that a device keeps its place in the console's row of device marks. Window
    // functions would take three times as long as aggregating this one string.
    const { states } = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(STATES.as('states'))
      .executeTakeFirstOrThrow()
    const bins = binsOf(states ?? '', maxBins)
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
    const newest = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(['device_id', 'name', 'hostname', 'first_seen'])
      .orderBy('first_seen', 'desc')
      .orderBy('device_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    const sum = (key: keyof (typeof bins)[number]): number => bins.reduce((total, bin) => total + bin[key], 0)
    const connectedCount = sum('connected')
    const warningCount = countOf('degraded')
    const errorCount = countOf('error')
    return {
      projectId,
      deviceCount: sum('devices'),
      connectedCount,
      // Devices may have connected or changed their health between the two queries.
      healthyCount: Math.max(0, connectedCount - warningCount - errorCount),
      warningCount,
      errorCount,
      pendingCount: sum('pending'),
      newestDevice: newest && {
        deviceId: newest.device_id,
        name: newest.name ?? undefined,
        hostname: newest.hostname || undefined,
        firstSeen: wireTime(newest.first_seen),
      },
      bins,
    }
  },
)

/** Groups neighbouring devices evenly into bins. Up to `maxBins` devices get a bin each; more devices share `maxBins` bins. */
function binsOf(states: string, maxBins: number): { devices: number; connected: number; pending: number }[] {
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

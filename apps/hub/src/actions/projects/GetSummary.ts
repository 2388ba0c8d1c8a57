import { sql } from 'kysely'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** As many ticks as fit the widest strip of the console. */
const DEFAULT_MAX_BINS = 60

/** A device as one digit: 1 connected, 2 with a pending certificate, 3 both. */
const STATES = sql<string | null>`string_agg(
  (is_connected::integer + 2 * (pending_certificates > 0)::integer)::text, '' order by first_seen, device_id)`

export const projects_GetSummary = handler(
  'projects_GetSummary',
  async ({ db }, { projectId, maxBins = DEFAULT_MAX_BINS }) => {
    // In order of first seen, so that a device keeps its place in the strip. Windows of rows would take three times as long.
    const { states } = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(STATES.as('states'))
      .executeTakeFirstOrThrow()
    const bins = binsOf(states ?? '', maxBins)
    const newest = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(['device_id', 'name', 'hostname', 'first_seen'])
      .orderBy('first_seen', 'desc')
      .orderBy('device_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    const sum = (key: keyof (typeof bins)[number]): number => bins.reduce((total, bin) => total + bin[key], 0)
    return {
      projectId,
      deviceCount: sum('devices'),
      connectedCount: sum('connected'),
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

/** Neighbours counted together, one bin a device while they fit. */
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

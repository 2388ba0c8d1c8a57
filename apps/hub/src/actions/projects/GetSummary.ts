import { sql } from 'kysely'
import { handler } from '../../handler.ts'
import { wireTime } from '../../times.ts'

/** As many ticks as fit the widest strip of the console. */
const DEFAULT_MAX_BINS = 60

type Bin = { devices: number; connected: number; pending: number }

export const projects_GetSummary = handler(
  'projects_GetSummary',
  async ({ db }, { projectId, maxBins = DEFAULT_MAX_BINS }) => {
    // One scan of the project's devices in order of first seen, so that a device keeps its place in the strip.
    const { rows: bins } = await sql<Bin>`
    select count(*) as devices, count(*) filter (where is_connected) as connected,
           count(*) filter (where pending_certificates > 0) as pending
      from (select is_connected, pending_certificates,
                   (row_number() over (order by first_seen, device_id) - 1) * least(${maxBins}::int, count(*) over ())
                     / greatest(count(*) over (), 1) as bin
              from device where project_id = ${projectId}) as placed
     group by bin order by bin`.execute(db)
    const newest = await db
      .selectFrom('device')
      .where('project_id', '=', projectId)
      .select(['device_id', 'name', 'first_seen'])
      .orderBy('first_seen', 'desc')
      .orderBy('device_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    const sum = (key: keyof Bin): number => bins.reduce((total, bin) => total + bin[key], 0)
    return {
      projectId,
      deviceCount: sum('devices'),
      connectedCount: sum('connected'),
      pendingCount: sum('pending'),
      newestDevice: newest && {
        deviceId: newest.device_id,
        name: newest.name ?? undefined,
        firstSeen: wireTime(newest.first_seen),
      },
      bins,
    }
  },
)

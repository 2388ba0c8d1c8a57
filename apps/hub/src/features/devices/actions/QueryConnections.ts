import type { ConnectionEndReason } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { secsBetween, wireTime } from '../../../platform/runtime/times.ts'

const DEFAULT_LIMIT = 100

/** Lists the connections of a device, newest first. */
export const devices_QueryConnections = handler(
  'devices_QueryConnections',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, activeOnly = false }) => {
    let query = db
      .selectFrom('device_connection as c')
      .leftJoin('cluster_node as n', 'n.node_id', 'c.node_id')
      .where('c.device_id', '=', deviceId)
      .select([
        'c.connection_id',
        'c.node_id',
        'n.name as node_name',
        'c.connected_at',
        'c.ended_at',
        'c.end_reason',
        'c.was_taken_over',
      ])
      .orderBy('c.connected_at', 'desc')
      .orderBy('c.connection_id')
      .limit(limit)
    if (activeOnly) query = query.where('c.ended_at', 'is', null)
    const now = new Date()
    return {
      connections: (await query.execute()).map(row => ({
        connectionId: row.connection_id,
        nodeId: row.node_id,
        nodeName: row.node_name ?? undefined,
        connectedAt: wireTime(row.connected_at),
        endedAt: row.ended_at ? wireTime(row.ended_at) : undefined,
        endReason: (row.end_reason ?? undefined) as ConnectionEndReason | undefined,
        wasTakenOver: row.was_taken_over && row.end_reason === 'Disconnected' ? (true as const) : undefined,
        durationSecs: secsBetween(row.connected_at, row.ended_at ?? now),
      })),
    }
  },
)

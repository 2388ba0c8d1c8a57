import { every } from '@muster/concurrency'
import { GO_AWAY } from '@muster/link'
import type pg from 'pg'
import type { Bus } from '../../platform/bus/bus.ts'
import { type EndedRights, PendingChecks } from '../../platform/bus/ended-rights.ts'
import { hadOtherNodeRecently } from '../../platform/cluster/node.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import { type DeviceRegistry, type DeviceSession, REPLACED } from '../links/registry.ts'

/** Interval at which a node polls for rights that ended at other nodes, in milliseconds. With the time of a poll they end within 5 s. */
const LOOK_MS = 4_000

type Options = {
  db: Db
  pool: pg.Pool
  devices: DeviceRegistry
  rights: EndedRights
  bus: Bus
  nodeId: string
  log: Logger
}
type Ended = { at: number; cause: keyof typeof REASONS }

const REASONS = {
  right: 'certificate or token is no longer valid',
  // Another node took this one for dead, and the device has not connected again.
  evicted: GO_AWAY.evicted,
  replaced: REPLACED,
}

// A newer connection of the device to this node counts for nothing here: this node closes the older one when it registers the newer one,
// and keeps it if the newer one broke before.
const ENDED = {
  name: 'gateway-ended-rights',
  text: `
    select (i.at - 1)::int as at,
           case when t.token_id is null or c.certificate_id is null then 'right'
                when d.connection_id is null and exists (
                  select from device_connection e where e.connection_id = i.connection_id and e.end_reason = 'NodeCrashed'
                ) then 'evicted'
                else 'replaced' end as cause
      from unnest($1::text[], $2::text[], $3::text[], $4::text[])
        with ordinality as i (token_id, certificate_id, device_id, connection_id, at)
      left join deployment_token t on t.token_id = i.token_id
      left join device_certificate c on c.certificate_id = i.certificate_id and c.status = 'Active'
      left join device d on d.device_id = i.device_id
     where t.token_id is null or c.certificate_id is null
        or (i.connection_id is not null and d.connection_id is distinct from i.connection_id and not exists (
          select from device_connection n where n.connection_id = d.connection_id and n.node_id = $5
        ))`,
}

/**
 * Closes connections whose token or certificate was deleted or revoked through another node. The other node sends the id over the bus.
 * Each node also polls the database, because messages of the bus may be lost. Message and poll also close the connection of a device that
 * has connected to another node since, because the newest connection wins (docs/decisions.md, "Connections"). Checking tokens and
 * certificates is enough: deleting a project or organization deletes its tokens, and deleting a device deletes its certificates. The poll
 * is skipped while no other node had a heartbeat within the last minute.
 */
export function watchRights({ db, pool, devices, rights, bus, nodeId, log }: Options): AsyncDisposable {
  const closeEnded = async (sessions: readonly DeviceSession[]): Promise<void> => {
    if (sessions.length === 0) return
    const { rows } = await pool.query<Ended>(ENDED, [
      sessions.map(({ tokenId }) => tokenId),
      sessions.map(({ certificateId }) => certificateId),
      sessions.map(({ deviceId }) => deviceId),
      sessions.map(({ connectionId }) => connectionId),
      nodeId,
    ])
    for (const { at, cause } of rows) sessions[at]!.close(REASONS[cause])
  }
  const failed = (error: unknown): void =>
    log.warn({ err: error }, 'could not check the rights that ended at other nodes')
  const reported = new PendingChecks<string>(ids => closeEnded(devices.withIds(new Set(ids))).catch(failed))
  rights.onEnded(right => reported.add(Object.values(right)))
  bus.subscribe(`node.${nodeId}`, ({ connectionId }) => reported.add([connectionId]))
  const poll = every(
    LOOK_MS,
    async () => {
      const { sessions } = devices
      if (sessions.length > 0 && (await hadOtherNodeRecently(db))) await closeEnded(sessions)
    },
    failed,
  )
  return {
    async [Symbol.asyncDispose]() {
      reported[Symbol.dispose]()
      await poll[Symbol.asyncDispose]()
    },
  }
}

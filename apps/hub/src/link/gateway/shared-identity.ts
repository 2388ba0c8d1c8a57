import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { wireTime } from '../../platform/runtime/times.ts'

/** Time in which the takeovers of a device are counted, in minutes. The problem ends this long after the last takeover. */
const WINDOW_MINUTES = 10
/** Takeovers within the window from which on machines share an identity. */
const LEAST_TAKEOVERS = 3
/**
 * Least number of these takeovers that bring an instance back which another one had replaced. A single machine that restarts, or moves
 * through networks, does not come back.
 */
const LEAST_RETURNS = 2
/** Maximum number of connections of a device that are read. */
const MAX_CONNECTIONS = 201

/** A connection of a device. The newest connections come last. */
export type RecentConnection = {
  address: string | null
  /** Boot and process of the agent, `BOOT.PROCESS`; null where the agent does not report them. */
  instance: string | null
  wasTakenOver: boolean
}

/** Machines that take the connection of one device over from each other. */
export type SharedIdentity = { takeovers: number; addresses: string[]; isOneMachine: boolean }

/**
 * Finds out whether several machines use the identity of a device, from its connections within the window. Instances are told apart by
 * boot and process where both agents report them, else by address. A machine that reconnects is one instance, whatever its address.
 */
export function sharedIdentity(connections: readonly RecentConnection[]): SharedIdentity | undefined {
  let takeovers = 0
  let returns = 0
  let last: [RecentConnection, RecentConnection] | undefined
  for (const [at, older] of connections.entries()) {
    const newer = connections[at + 1]
    if (!newer || !older.wasTakenOver || isSame(older, newer) !== false) continue
    takeovers++
    last = [older, newer]
    if (connections.slice(0, at).some(before => isSame(before, newer))) returns++
  }
  if (!last || takeovers < LEAST_TAKEOVERS || returns < LEAST_RETURNS) return undefined
  const addresses = last.map(({ address }) => address).filter(address => address !== null)
  const boots = last.map(({ instance }) => instance?.split('.')[0])
  return {
    takeovers,
    addresses: [...new Set(addresses)].toSorted(),
    isOneMachine: boots[0] !== undefined && boots[0] === boots[1],
  }
}

/** Whether two connections come from one instance; undefined if that is not known. */
function isSame(one: RecentConnection, other: RecentConnection): boolean | undefined {
  if (one.instance !== null && other.instance !== null) return one.instance === other.instance
  return one.address === null || other.address === null ? undefined : one.address === other.address
}

type Row = { device_id: string } & RecentConnection

/** Connections of some devices that were open within the window, by device, the newest last. */
export async function recentConnections(
  db: Db,
  deviceIds: readonly string[],
): Promise<Map<string, RecentConnection[]>> {
  const { rows } = await sql<Row>`
    select i.device_id, c.remote_address as address, c.instance, c.was_taken_over as "wasTakenOver"
      from unnest(${deviceIds}::text[]) as i (device_id)
      cross join lateral (
        select * from device_connection c where c.device_id = i.device_id
         order by c.connected_at desc, c.connection_id desc limit ${MAX_CONNECTIONS}
      ) c
     where c.ended_at is null or c.ended_at > now() - make_interval(mins => ${WINDOW_MINUTES})
     order by c.connected_at, c.connection_id`.execute(db)
  const byDevice = new Map<string, RecentConnection[]>()
  for (const { device_id, ...connection } of rows) {
    const found = byDevice.get(device_id)
    if (found) found.push(connection)
    else byDevice.set(device_id, [connection])
  }
  return byDevice
}

/** Stores that machines share the identity of a device. Resolves to whether this is new: it was not the case within the window. */
export async function storeSharedIdentity(
  db: Db,
  deviceId: string,
  { takeovers, addresses, isOneMachine }: SharedIdentity,
): Promise<boolean> {
  const { rows } = await sql<{ is_new: boolean }>`
    insert into device_shared_identity as s (device_id, takeovers, addresses, is_one_machine, first_at, last_at)
    select device_id, ${takeovers}::integer, ${JSON.stringify(addresses)}::jsonb, ${isOneMachine}::boolean, now(), now()
      from device where device_id = ${deviceId}
    on conflict (device_id) do update set takeovers = excluded.takeovers, addresses = excluded.addresses,
      is_one_machine = excluded.is_one_machine, last_at = excluded.last_at,
      first_at = case when ${isOver('s')} then excluded.first_at else s.first_at end
    returning first_at = now() as is_new`.execute(db)
  return rows[0]?.is_new ?? false
}

function isOver(table: string) {
  return sql<boolean>`${sql.ref(`${table}.last_at`)} <= now() - make_interval(mins => ${WINDOW_MINUTES})`
}

/** SQL condition that machines share the identity of the device `d`. */
export const HAS_SHARED_IDENTITY = sql<boolean>`d.device_id in (
  select s.device_id from device_shared_identity s where not (${isOver('s')}))`

/** SQL text of the shared identity of the device `d` as JSON; null without one. */
export const SHARED_IDENTITY = `(
  select jsonb_build_object('takeovers', s.takeovers, 'addresses', s.addresses, 'isOneMachine', s.is_one_machine,
                            'firstAt', s.first_at, 'lastAt', s.last_at)
    from device_shared_identity s
   where s.device_id = d.device_id and s.last_at > now() - interval '${WINDOW_MINUTES} minutes')`

/** Result of `SHARED_IDENTITY`. */
export type StoredSharedIdentity = SharedIdentity & { firstAt: string; lastAt: string }

/** Shared identity in the form of the API. */
export function wireSharedIdentity({ firstAt, lastAt, isOneMachine, ...shared }: StoredSharedIdentity) {
  return {
    ...shared,
    ...(isOneMachine && { isOneMachine: true as const }),
    firstAt: wireTime(new Date(firstAt)),
    lastAt: wireTime(new Date(lastAt)),
  }
}

/** Number of devices of the instance whose identity several machines use. */
export async function countSharedIdentities(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from device_shared_identity s where not (${isOver('s')})`.execute(db)
  return rows[0]!.count
}

import { sql } from 'kysely'

/**
 * Sort key of devices `d` by the time at which they were last seen. A disconnected device was last seen when its last connection ended,
 * or else when it first appeared. Connected devices are seen at this moment, so they sort after all others: by the beginning of their
 * connection, moved a thousand years ahead. There is no index on this key, because each reconnect of a device would change an index
 * entry.
 */
export const LAST_SEEN_ORDER = sql`case
  when d.is_connected then coalesce(d.last_connected_at, d.first_seen) + interval '1000 years'
  else coalesce((
    select coalesce(c.ended_at, c.connected_at) from device_connection c where c.device_id = d.device_id
     order by c.connected_at desc limit 1), d.first_seen) end`

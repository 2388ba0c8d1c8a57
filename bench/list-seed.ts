import type { BenchHub } from './hub-process.ts'

/** Number of days over which the seeded events are spread, equal to the default retention. Each day has its own partition. */
export const EVENT_DAYS = 90
/** Number of devices that have seeded events. */
export const EVENT_DEVICES = 1_000

/** SQL expression that derives an id in the hub's format, with 22 base-58 characters, from the number `i`. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`

/**
 * Adds devices with a few properties each to a project. Every fifth device is disconnected, every tenth has no name and every
 * 97th has a pending certificate. Disconnected devices have three ended connections.
 */
export async function seedDevices(hub: BenchHub, projectId: string, count: number): Promise<void> {
  await hub.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, hostname, first_seen,
                         is_connected, last_connected_at, pending_certificates)
     select 'd_' || ${ID}, $1, 'd_pk_' || ${ID}, sha256(i::text::bytea),
            case when i % 10 <> 0 then 'gateway-' || lpad(i::text, 6, '0') end, 'host-' || md5(i::text),
            now() - i * interval '1 minute', i % 5 <> 0, now(), (i % 97 = 0)::integer
       from generate_series(1, ${count}) i`,
    [projectId],
  )
  await hub.query(
    `insert into device_property (device_id, name, value, value_json)
     select 'd_' || ${ID}, name, value::json, value
       from generate_series(1, ${count}) i,
            lateral (values ('version', to_jsonb('2.' || i % 20 || '.0')), ('site', to_jsonb('site ' || i % 1000)),
                            ('floor', to_jsonb(i % 90))) as p (name, value)`,
  )
  await hub.query(
    `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
     select 'd_conn_' || ${ID} || '_' || n, 'd_' || ${ID}, '', '', '', now() - i * interval '1 second' - n * interval '1 day',
            now() - i * interval '1 second', 'Disconnected'
       from generate_series(5, ${count}, 5) i, generate_series(1, 3) n`,
  )
  await hub.query('vacuum analyze device, device_property, device_connection')
}

/** Adds events of the last 90 days, evenly spread over days and the first 1,000 devices. */
export async function seedEvents(hub: BenchHub, rows: number): Promise<void> {
  const perDay = Math.ceil(rows / EVENT_DAYS)
  const today = Date.now()
  for (let daysAgo = EVENT_DAYS - 1; daysAgo >= 0; daysAgo--) {
    const day = new Date(today - daysAgo * 86_400_000).toISOString().slice(0, 10)
    const next = new Date(today - (daysAgo - 1) * 86_400_000).toISOString().slice(0, 10)
    const partition = `device_event_${day.replaceAll('-', '')}`
    await hub.query(
      `create table if not exists ${partition} partition of device_event for values from ('${day}') to ('${next}')`,
    )
    await hub.query(
      `insert into ${partition} (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
       select 'd_' || left(translate(md5((1 + n % ${EVENT_DEVICES})::text), '0', 'z'), 22),
              'd_ev_${day.replaceAll('-', '')}-' || to_char(at, 'HH24MI') || '-' || left(translate(md5(n::text), '0', 'z'), 8),
              '${day}', 'Info', 'bench', to_json(repeat('x', 200)), '{}', at
         from (select n, timestamptz '${day} 00:00:00Z' + n * interval '86000 seconds' / ${perDay} as at
                 from generate_series(1, ${perDay}) n) as made
       on conflict do nothing`,
    )
  }
  await hub.query('vacuum analyze device_event')
}

/** Properties, past values, updates, connections and events of the newest seeded device. */
const DEVICE_ROWS = { properties: 200, changes: 600, connections: 400, events: 400 }

/** Gives the newest seeded device the history of a busy week, and returns its id. */
export async function seedDeviceHistory(hub: BenchHub): Promise<string> {
  const [device] = (await hub.query(
    `select device_id, (select node_id from cluster_node limit 1), (select token_id from deployment_token limit 1)
       from device order by first_seen desc limit 1`,
  )) as { device_id: string; node_id: string; token_id: string }[]
  const { device_id: deviceId, node_id: nodeId, token_id: tokenId } = device!
  const actor = JSON.stringify({ actor: 'Device', deviceId, tokenId })
  await hub.query(
    `insert into device_property (device_id, name, value, value_json)
     select $1, 'bench.' || to_char(i, 'FM000'), to_json('value ' || i), to_jsonb('value ' || i)
       from generate_series(1, ${DEVICE_ROWS.properties}) i`,
    [deviceId],
  )
  await hub.query(
    `insert into device_property_change (device_id, name, version, value, actor, changed_at)
     select $1, 'bench.' || to_char(1 + i % ${DEVICE_ROWS.properties}, 'FM000'), 1 + i / ${DEVICE_ROWS.properties}, to_json('value ' || i),
            $2::jsonb, now() - i * interval '7 minutes' from generate_series(1, ${DEVICE_ROWS.changes}) i`,
    [deviceId, actor],
  )
  const status = `json_build_object('state', case i % 2 when 0 then 'installing' else 'failed' end, 'currentVersion', '1.0',
    'targetVersion', '2.0', 'failureCount', i / 2 + 1, 'lastError', 'no space left on device')`
  await hub.query(
    `insert into device_property_change (device_id, name, version, value, actor, changed_at)
     select $1, 'dev.nexigon.ota.status', i + 1, ${status}, $2::jsonb, now() - (60 - i) * interval '2 hours'
       from generate_series(0, 59) i`,
    [deviceId, actor],
  )
  await hub.query(
    `insert into device_property (device_id, name, value, value_json, version)
     select device_id, name, value, value::jsonb, version from device_property_change
      where device_id = $1 and name = 'dev.nexigon.ota.status' order by version desc limit 1`,
    [deviceId],
  )
  await hub.query(
    `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
     select 'd_conn_' || ${ID}, $1, $2, $3, 'd_c_' || ${ID}, now() - i * interval '25 minutes',
            now() - i * interval '25 minutes' + interval '24 minutes', 'Disconnected'
       from generate_series(1, ${DEVICE_ROWS.connections}) i`,
    [deviceId, nodeId, tokenId],
  )
  await hub.query(
    `insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
     select $1, 'd_ev_' || to_char(at, 'YYYYMMDD-HH24MI') || '-' || left(translate(md5(i::text), '0', 'z'), 8), at::date,
            (array['Info', 'Warning', 'Error'])[1 + i % 3], 'bench', to_json('bench event ' || i), '{}', at
       from (select i, (now() at time zone 'utc') - i * interval '9 minutes' as at from generate_series(1, ${DEVICE_ROWS.events}) i) made`,
    [deviceId],
  )
  return deviceId
}

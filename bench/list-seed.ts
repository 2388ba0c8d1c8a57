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

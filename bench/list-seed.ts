import { nameKey } from '@muster/predicates/name-key'
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
export async function seedDevices(
  hub: Pick<BenchHub, 'query'>,
  projectId: string,
  count: number,
): Promise<void> {
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
  await makeNameKeys(hub)
  await hub.query('vacuum analyze device, device_property, device_connection')
}

/** Makes the keys by which lists sort names, as the job `devices_FillNameKeys` does. */
async function makeNameKeys(hub: Pick<BenchHub, 'query'>): Promise<void> {
  const devices = (await hub.query(
    `select device_id, coalesce(name, hostname, '') as shown from device`,
  )) as {
    device_id: string
    shown: string
  }[]
  await hub.query(
    `update device d set name_key = i.name_key from unnest($1::text[], $2::text[]) as i (device_id, name_key)
      where d.device_id = i.device_id`,
    [devices.map(device => device.device_id), devices.map(device => nameKey(device.shown))],
  )
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

/** SQL expression for the 22 base-58 characters in the id of version number `i`. */
const VERSION_TAIL = `lpad(translate(i::text, '0', 'z'), 22, '9')`

/** Ids of seeded software: a repository, its package, a version that half of the devices run, and one of the projects. */
type SeededSoftware = { repositoryId: string; packageId: string; versionId: string; projectId: string }

/**
 * Spreads all devices over projects that are linked to a repository, and gives each device an update status with one of several versions.
 * With 0 `projects` the devices stay where they are.
 * Half of the devices run the newest version, and one in 200 failed to install it. Also adds hourly device counts per version for 14 days.
 */
export async function seedSoftware(
  hub: BenchHub,
  projects: number,
  versions: number,
): Promise<SeededSoftware> {
  const [repositoryId, packageId] = [`repo_${'9'.repeat(22)}`, `pkg_${'9'.repeat(22)}`]
  const versionId = `pkg_v_${String(versions).replaceAll('0', 'z').padStart(22, '9')}`
  await hub.query(
    `insert into project (project_id, organization_id, name)
     select 'p_' || ${ID}, (select organization_id from organization limit 1), 'Project ' || i from generate_series(1, $1::int) i`,
    [projects],
  )
  await hub.query(
    `insert into repository (repository_id, organization_id, display_name, slug)
     select $1, (select organization_id from organization limit 1), 'fleet', 'fleet'`,
    [repositoryId],
  )
  await hub.query(
    `insert into project_repository (project_id, repository_id) select project_id, $1 from project`,
    [repositoryId],
  )
  await hub.query(`insert into package (package_id, repository_id, name) values ($1, $2, 'gateway-os')`, [
    packageId,
    repositoryId,
  ])
  await hub.query(
    `insert into package_version (version_id, package_id, metadata, created_at)
     select 'pkg_v_' || ${VERSION_TAIL}, $1, jsonb_build_object('imageVersion', '2.' || i || '.0'), now() - ($2 - i) * interval '1 day'
       from generate_series(1, $2::int) i`,
    [packageId, versions],
  )
  await hub.query(`insert into package_tag (package_id, tag, version_id) values ($1, 'stable', $2)`, [
    packageId,
    versionId,
  ])
  if (projects > 0)
    await hub.query(
      `update device d set project_id = 'p_' || ${ID}
         from (select device_id, (1 + row_number() over () % $1)::int as i from device) n where n.device_id = d.device_id`,
      [projects],
    )
  await hub.query(
    `insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
     select device_id, 1, 'fleet/gateway-os/stable',
            '2.' || case when n % 200 <> 0 and n % 2 = 0 then $1::bigint else 1 + n % ($1::bigint - 1) end || '.0', '2.' || $1::bigint || '.0',
            case when n % 200 = 0 then 'failed' else 'completed' end, case when n % 200 = 0 then 3 end,
            case when n % 200 = 0 then 'reason ' || chr(97 + (n / 200 % 7)::int) end
       from (select device_id, row_number() over () as n from device) d`,
    [versions],
  )
  await hub.query(
    `insert into software_sample (project_id, sampled_at, counts)
     select project_id, date_trunc('hour', now()) - h * interval '1 hour',
            (select jsonb_object_agg('pkg_v_' || ${VERSION_TAIL}, 100 + i) from generate_series(1, $1::int) i)
       from project, generate_series(0, 335) h`,
    [versions],
  )
  await hub.query('vacuum analyze')
  return { repositoryId, packageId, versionId, projectId: await projectOf(hub) }
}

/** Id of a project with seeded devices. */
async function projectOf(hub: BenchHub): Promise<string> {
  const [device] = (await hub.query('select project_id from device limit 1')) as { project_id: string }[]
  return device!.project_id
}

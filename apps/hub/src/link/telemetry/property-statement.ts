import { SYSTEM_INFO } from './device-addresses.ts'

/** `info` of system information whose addresses are written too. Any other value is the version of the stored one, with the same addresses. */
export const WRITES_ADDRESSES = -1

/**
 * The writes, with what is known of their devices. Only few writes have values in the last columns: `hostname`, `host_key` and `health` are
 * for columns of `device`, `updates` is for the row of `device_update`, `info` and `addresses` are for the rows of `device_address`.
 */
const INPUT = `input as (
    select i.*, d.device_id is not null as is_known, d.property_version_floor as version_floor, d.addresses_version
      from unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
                  $11::text[]) with ordinality
        as i (device_id, name, value, is_plain, actor, hostname, host_key, health, updates, info, addresses, at)
      left join device d using (device_id)
  )`

/** The stored values. Rows are locked in a fixed order, so that batches cannot deadlock. A locked row is read in its newest version. */
const OLD = `old as (
    select p.device_id, p.name, p.value::text as value, p.version, p.protected
      from input i join device_property p on p.device_id = i.device_id and p.name = i.name
     order by p.device_id, p.name for no key update of p
  )`

/** The writes with their versions. A property that was removed since the snapshot (`is_removed`) is in it, but cannot be locked. */
const CHANGE = `change as (
    select i.*, old.value as old_value, coalesce(old.version, version_floor) + 1 as version,
           coalesce(old.protected, false) as is_refused, coalesce(seen.is_removed, false) as is_removed
      from input i left join old using (device_id, name) left join lateral (
        select true as is_removed from device_property p
         where old.version is null and p.device_id = i.device_id and p.name = i.name
      ) seen on true
  )`

/** Stores the values. A property that was inserted since the snapshot has another version than expected and is not overwritten. */
const WRITTEN = `written as (
    insert into device_property (device_id, name, value, value_json, value_bytes, version, last_updated)
    select device_id, name, value::json, case when is_plain then value::jsonb else jsonb_or_null(value) end,
           octet_length(value), version, clock_timestamp()
      from change where is_known and not is_refused and not is_removed order by device_id, name
    on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json,
      value_bytes = excluded.value_bytes, version = excluded.version, last_updated = excluded.last_updated
      where device_property.version = excluded.version - 1
    returning device_id, name
  ), stored as (select change.* from written join change using (device_id, name))`

/** Agents repeat their system information every 30 min, so it has no history. */
const HISTORY = `history as (
    insert into device_property_change (device_id, name, version, value, actor, changed_at)
    select device_id, name, version, value::json, actor::jsonb, clock_timestamp() from stored
     where old_value is distinct from value and name not in (${SYSTEM_INFO.map(name => `'${name}'`).join(', ')})
  )`

/**
 * Whether the stored addresses are those of the system information that the statement writes. This is so in two cases: the statement
 * writes the addresses too, or no other writer has stored system information since this node last wrote the addresses. System information
 * under either of its two property names counts.
 */
const HAS_ADDRESSES = `(info = ${WRITES_ADDRESSES} or info = version - 1 and info = addresses_version)`

/**
 * Updates rows of `device`. A batch may hold both names of the system information, so the key of a device without a name is that of the host
 * name that is stored. If another writer has stored system information since this node last wrote the addresses, `addresses_version` becomes
 * null, and the caller repeats the write with the addresses. If it cannot, the job `devices_FillAddresses` writes them.
 */
const SUMMARY = `summary as (
    update device d
       set hostname = coalesce(s.hostname, d.hostname), health = coalesce(s.health, d.health),
           name_key = case when s.hostname is null or d.name is not null then d.name_key else s.host_key end,
           addresses_version = case when s.info_version is null then d.addresses_version when s.has_addresses then s.info_version end
      from (select device_id, max(hostname) as hostname, max(health) as health,
                   (array_agg(host_key order by hostname desc nulls last))[1] as host_key,
                   max(version) filter (where info is not null) as info_version, bool_and(${HAS_ADDRESSES}) as has_addresses
              from stored where hostname is not null or health is not null group by device_id) s
     where d.device_id = s.device_id
  )`

/** Writes `device_update`. Writers of a row hold the lock of its property, and take these in a fixed order, so they cannot deadlock. */
const UPDATES = `updates as (
    insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
    select device_id, version, u.* from stored cross join lateral jsonb_to_record(updates::jsonb) as u
           (path text, current_version text, target_version text, state text, failure_count bigint, error text)
     where updates is not null
    on conflict (device_id) do update set property_version = excluded.property_version, path = excluded.path,
      current_version = excluded.current_version, target_version = excluded.target_version, state = excluded.state,
      failure_count = excluded.failure_count, error = excluded.error
  )`

/**
 * Writes `device_address`. Unchanged rows are only read. Rows that another transaction commits after the snapshot, for example when a person
 * sets the system information at the same time, remain until the addresses are written again.
 */
const ADDRESSES = `informed as (
    select distinct on (device_id) device_id, project_id, addresses from stored join device using (device_id)
     where addresses is not null order by device_id, at desc
  ), address as (
    select device_id, project_id, n.* from informed cross join lateral jsonb_to_recordset(addresses::jsonb)
      as n (address text, is_mac boolean, interface text)
  ), old_addresses as (
    delete from device_address o using informed i
     where o.device_id = i.device_id
       and not exists (select from address n where n.device_id = o.device_id and n.address = o.address)
  ), new_addresses as (
    insert into device_address (device_id, project_id, address, is_mac, interface)
    select device_id, project_id, address, is_mac, interface from address n
     where not exists (select from device_address o where o.device_id = n.device_id and o.address = n.address
                          and o.interface is not distinct from n.interface)
     order by device_id, address
    on conflict (device_id, address) do update set interface = excluded.interface
  )`

/**
 * Writes a batch of properties, and all that is derived from them. A device and name is in a batch once. All parts share one snapshot.
 * Writes of properties that another transaction has inserted or removed since are skipped as `is_late`. The caller repeats them in a new
 * statement: its snapshot shows the inserted row, or the `property_version_floor` of the device, which the removal raised. Returns a row
 * for each write that was not stored (late, protected or of an unknown device), that repeats the stored value, or that is system information.
 */
export const WRITE_PROPERTIES = `with ${[INPUT, OLD, CHANGE, WRITTEN, HISTORY, SUMMARY, UPDATES, ADDRESSES].join(', ')}
  select at::int, w.name is not null as is_written, w.name is null and is_known and not is_refused as is_late, version,
         ${HAS_ADDRESSES} as has_addresses
    from change left join written w using (device_id, name)
   where w.name is null or old_value is not distinct from value or info is not null`

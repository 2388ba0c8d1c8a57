/**
 * Writes the values of a batch. A device and name is in a batch once. Parameters: device ids, names, values, and whether `jsonb` takes the
 * value as it is. Returns a row for each write, with its position `at` from 1 and the version that it has or would have.
 *
 * - `old` locks the stored values in a fixed order, so that batches cannot deadlock. A locked row is read in its newest version.
 * - A property that another transaction has inserted since the snapshot has another version than expected and is not overwritten. A property
 *   that was removed since (`is_removed`) is in the snapshot, but cannot be locked. Both are `is_late`: the caller repeats them in a new
 *   statement, whose snapshot shows the inserted row, or the `property_version_floor` of the device, which the removal raised.
 * - Writes of protected properties and of unknown devices are neither written nor late.
 */
export const WRITE_VALUES = `with input as (
    select i.*, d.device_id is not null as is_known, d.property_version_floor as version_floor, d.addresses_version
      from unnest($1::text[], $2::text[], $3::text[], $4::bool[]) with ordinality as i (device_id, name, value, is_plain, at)
      left join device d using (device_id)
  ), old as (
    select p.device_id, p.name, p.value::text as value, p.version, p.protected
      from input i join device_property p on p.device_id = i.device_id and p.name = i.name
     order by p.device_id, p.name for no key update of p
  ), change as (
    select i.*, old.value as old_value, coalesce(old.version, version_floor) + 1 as version,
           coalesce(old.protected, false) as is_refused, coalesce(seen.is_removed, false) as is_removed
      from input i left join old using (device_id, name) left join lateral (
        select true as is_removed from device_property p
         where old.version is null and p.device_id = i.device_id and p.name = i.name
      ) seen on true
  ), written as (
    insert into device_property (device_id, name, value, value_json, value_bytes, version, last_updated)
    select device_id, name, value::json, case when is_plain then value::jsonb else jsonb_or_null(value) end,
           octet_length(value), version, clock_timestamp()
      from change where is_known and not is_refused and not is_removed order by device_id, name
    on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json,
      value_bytes = excluded.value_bytes, version = excluded.version, last_updated = excluded.last_updated
      where device_property.version = excluded.version - 1
    returning device_id, name
  )
  select at::int, w.name is not null as is_written, w.name is null and is_known and not is_refused as is_late,
         old_value is distinct from value as is_changed, version, addresses_version
    from change left join written w using (device_id, name)`

/** Writes the history of stored values. Parameters: device ids, names, versions, values, actors. */
export const WRITE_HISTORY = `
  insert into device_property_change (device_id, name, version, value, actor, changed_at)
  select device_id, name, version, value::json, actor::jsonb, clock_timestamp()
    from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) as i (device_id, name, version, value, actor)`

/**
 * Writes rows of `device_update` for stored update statuses. Parameters: device ids, versions, and the columns as JSON. Writers of a row hold
 * the lock of its property, and take these in a fixed order, so they cannot deadlock.
 */
export const WRITE_UPDATES = `
  insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
  select device_id, version, u.* from unnest($1::text[], $2::bigint[], $3::text[]) as i (device_id, version, updates)
   cross join lateral jsonb_to_record(updates::jsonb) as u
         (path text, current_version text, target_version text, state text, failure_count bigint, error text)
  on conflict (device_id) do update set property_version = excluded.property_version, path = excluded.path,
    current_version = excluded.current_version, target_version = excluded.target_version, state = excluded.state,
    failure_count = excluded.failure_count, error = excluded.error`

/**
 * Writes the columns of `device` and the rows of `device_address` that stored values summarise. Parameters: device ids, host names, their
 * sort keys, healths, versions (null but for system information), addresses as JSON if they are to be written, and whether the stored
 * addresses are those of the system information (`has_addresses`).
 *
 * - A batch may hold both names of the system information, so the key of a device without a name is that of the host name that is stored.
 * - If another writer has stored system information since this node last wrote the addresses, `addresses_version` becomes null, and the caller
 *   repeats the write with the addresses. If it cannot, the job `devices_FillAddresses` writes them.
 * - Unchanged addresses are only read. Rows that another transaction commits after the snapshot, for example when a person sets the system
 *   information at the same time, remain until the addresses are written again.
 */
export const WRITE_SUMMARIES = `with stored as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bool[]) with ordinality
      as i (device_id, hostname, host_key, health, info_version, addresses, has_addresses, at)
  ), summary as (
    update device d
       set hostname = coalesce(s.hostname, d.hostname), health = coalesce(s.health, d.health),
           name_key = case when s.hostname is null or d.name is not null then d.name_key else s.host_key end,
           addresses_version = case when s.info_version is null then d.addresses_version when s.has_addresses then s.info_version end
      from (select device_id, max(hostname) as hostname, max(health) as health,
                   (array_agg(host_key order by hostname desc nulls last))[1] as host_key,
                   max(info_version) as info_version, bool_and(has_addresses) as has_addresses
              from stored group by device_id) s
     where d.device_id = s.device_id
  ), informed as (
    select distinct on (device_id) device_id, project_id, addresses from stored join device using (device_id)
     where addresses is not null order by device_id, at desc
  ), address as (
    select device_id, project_id, n.* from informed cross join lateral jsonb_to_recordset(addresses::jsonb)
      as n (address text, is_mac boolean, interface text)
  ), old_addresses as (
    delete from device_address o using informed i
     where o.device_id = i.device_id
       and not exists (select from address n where n.device_id = o.device_id and n.address = o.address)
  )
  insert into device_address (device_id, project_id, address, is_mac, interface)
  select device_id, project_id, address, is_mac, interface from address n
   where not exists (select from device_address o where o.device_id = n.device_id and o.address = n.address
                        and o.interface is not distinct from n.interface)
   order by device_id, address
  on conflict (device_id, address) do update set interface = excluded.interface`

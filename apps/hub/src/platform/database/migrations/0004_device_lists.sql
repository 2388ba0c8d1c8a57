-- What device lists are filtered by at 100,000 devices.

-- The texts by which people look for a device, lower-cased once and not at every look.
alter table device add column search_text text not null
  generated always as (lower(coalesce(name, '') || E'\n' || device_id || E'\n' || coalesce(hostname, ''))) stored;

-- A value that conditions compare with: null for objects, arrays and whatever is too long for a row of an index. Not strict, so
-- that it is inlined.
create function jsonb_scalar(value jsonb) returns jsonb
  language sql immutable parallel safe
  return case when jsonb_typeof(value) not in ('object', 'array') and octet_length(value::text) <= 2000 then value end;

create index device_property_value on device_property (name, jsonb_scalar(value_json), device_id);

-- With what a summary of all devices needs, so that it reads the index alone.
drop index device_by_first_seen;
create index device_by_first_seen on device (project_id, first_seen, device_id) include (is_connected, pending_certificates);

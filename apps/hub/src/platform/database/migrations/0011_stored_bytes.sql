-- Size of the JSON text of a property in bytes, so that the total of a device needs no value; null for values written before.
alter table device_property add column value_bytes integer;

-- Bytes of events and of property changes that a device stored on a UTC day. Nodes add what they count every few minutes
-- (limits/stored-bytes.ts). Rows of days that retention has dropped go with them (jobs/CleanupExpired.ts).
create table device_stored_bytes (
  device_id text not null references device on delete cascade,
  day date not null,
  event_bytes bigint not null default 0,
  change_bytes bigint not null default 0,
  primary key (device_id, day)
);
create index device_stored_bytes_day on device_stored_bytes (day);

-- Bytes of properties, property changes and events of a project's devices, as last measured (jobs/MeasureStored.ts).
create table project_stored_bytes (
  project_id text primary key references project on delete cascade,
  bytes bigint not null,
  measured_at timestamptz not null
);

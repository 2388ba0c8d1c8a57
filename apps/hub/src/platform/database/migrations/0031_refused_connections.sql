-- Time of the first refusal that `last_refusal_count` counts; null if it came before this migration.
alter table device add column last_refusal_since timestamptz;

-- Latest refused connections of a device, newest first: at most ten objects with `at`, `reason` and `address`.
create table device_refusals (
  device_id text primary key references device on delete cascade,
  latest jsonb not null
);

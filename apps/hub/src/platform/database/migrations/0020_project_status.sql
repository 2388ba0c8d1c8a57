-- Counts of a project with many devices, and its connected devices of the last 24 h, one number every 10 minutes, newest first. Null
-- stands for a time without a count. `sampled_step` is the number of 10 minutes since 1970 at the newest count.
create table project_status (
  project_id text primary key references project on delete cascade,
  counted_at timestamptz,
  device_count integer,
  connected_count integer,
  warning_count integer,
  error_count integer,
  pending_count integer,
  bins jsonb,
  sampled_step bigint,
  connected_counts integer[] not null default '{}'
);

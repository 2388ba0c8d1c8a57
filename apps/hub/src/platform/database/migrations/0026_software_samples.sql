-- Numbers of devices that ran versions of packages, one row for each project and hour. `counts` maps ids of versions to numbers of devices.
-- A version that is missing in it had no device.
create table software_sample (
  project_id text not null references project on delete cascade,
  sampled_at timestamptz not null,
  counts jsonb not null,
  primary key (project_id, sampled_at)
);
create index software_sample_oldest on software_sample (sampled_at);

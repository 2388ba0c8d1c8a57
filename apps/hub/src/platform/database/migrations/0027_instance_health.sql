-- What a node last reported about itself, and when another node took it for dead. Its next heartbeat clears `evicted_at`.
alter table cluster_node
  add column facts jsonb,
  add column evicted_at timestamptz;

-- Number of events of devices that all nodes have stored, in intervals of 15 minutes.
create table event_rate (
  starts_at timestamptz primary key,
  event_count bigint not null
);

-- Size of the database on each day.
create table database_size (
  sampled_on date primary key,
  size_bytes bigint not null
);

-- For the progress of a job.
create index bulk_action_job on bulk_action (job_id) where job_id is not null;

-- Properties that stand first on the pages of all devices of a project, each as {"name", "label"}.
alter table project add column pinned_properties jsonb not null default '[]';

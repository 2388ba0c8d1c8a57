-- The last report of each limit that a device, token, project, organization or person hit. Subjects have ids of several tables, so there
-- is no foreign key: a job removes rows whose last hit is old (jobs/CleanupExpired.ts).
create table limit_hit (
  subject_id text not null,
  limit_name text not null,
  message text not null,
  hits bigint not null,
  first_hit_at timestamptz not null default now(),
  last_hit_at timestamptz not null default now(),
  primary key (subject_id, limit_name)
);

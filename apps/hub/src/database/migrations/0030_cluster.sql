-- What a node reports with each heartbeat, and what an administrator has asked of it. `newest_migration` is the newest one that the
-- node's release knows: a migration that older releases cannot live with waits until no such node is alive. A node with
-- `release_total` asks that many of its devices to connect again, so that other nodes take them.
alter table cluster_node
  add column draining_at timestamptz,
  add column connection_count integer,
  add column clock_ahead_ms bigint,
  add column newest_migration text,
  add column release_total integer,
  add column release_done integer not null default 0,
  add column release_started_at timestamptz;

-- Counts of rate limits that hold for all nodes together, in the columns that rate-limiter-flexible writes; `expire` is in milliseconds
-- since 1970. Unlogged, because a write then waits for no disk, and after a crash the counts may start again.
create unlogged table rate_limit_count (
  key text primary key,
  points integer not null,
  expire bigint
);

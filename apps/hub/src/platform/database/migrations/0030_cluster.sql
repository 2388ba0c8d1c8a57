-- A node updates `connection_count` and `clock_ahead_ms` with each heartbeat. `newest_migration` is the last migration that the release of
-- the node has. A migration that breaks older releases waits while a node of an older release is alive. `release_total` is set when an
-- administrator starts a rebalance: the node then asks that many of its devices to reconnect, so that other nodes accept them.
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

-- Deployment token and address with which a certificate was first seen. Null for certificates that were stored before or added by hand.
alter table device_certificate
  add column token_id text,
  add column remote_address text;

-- For the question from which addresses devices came with a token. Only enrolments and decisions change an entry.
create index device_certificate_by_token on device_certificate (token_id, remote_address, status) where token_id is not null;

-- An action on many devices. The preview creates it as 'Prepared' and fixes its items. `filter` is the filter of the device list from
-- which the items were found. Without foreign keys to the person and the session, results outlive both.
create table bulk_action (
  bulk_action_id text primary key,
  project_id text not null references project on delete cascade,
  kind text not null check (kind in ('Accept', 'Reject', 'Delete')),
  status text not null default 'Prepared'
    check (status in ('Prepared', 'Waiting', 'Running', 'Completed', 'Cancelled', 'Stopped')),
  user_id text not null,
  session_id text not null,
  filter jsonb,
  item_count integer not null default 0,
  succeeded_count integer not null default 0,
  skipped_count integer not null default 0,
  failed_count integer not null default 0,
  action_id text,
  job_id text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  -- Time before which no item is processed.
  due_at timestamptz,
  ended_at timestamptz,
  cancelled_by jsonb
);
create index bulk_action_due on bulk_action (due_at) where status in ('Waiting', 'Running');
create index bulk_action_project on bulk_action (project_id, created_at);
create index bulk_action_created on bulk_action (created_at);

-- One device or certificate of a bulk action. Name, host name, token and address are copies for the result, because the device may
-- be gone. `actor` and `acted_at` say who had decided or deleted it before.
create table bulk_action_item (
  bulk_action_id text not null references bulk_action on delete cascade,
  position integer not null,
  device_id text not null,
  certificate_id text,
  name text,
  hostname text,
  token_id text,
  remote_address text,
  outcome text check (outcome in ('Succeeded', 'Skipped', 'Failed')),
  reason text,
  actor jsonb,
  acted_at timestamptz,
  primary key (bulk_action_id, position)
);
create index bulk_action_item_open on bulk_action_item (bulk_action_id, position) where outcome is null;

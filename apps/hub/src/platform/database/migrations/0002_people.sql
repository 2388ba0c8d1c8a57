-- Finished audit rows are sealed in batches: the hash of a batch covers its rows and the batch before it, so that nothing can be
-- changed or taken out unnoticed. Retention removes the rows of whole batches and leaves their seals.

create table audit_seal (
  seal_no bigint primary key,
  action_count integer not null,
  event_count integer not null,
  -- SHA-256 of each row in order, so that a changed one can be named; gone with the rows.
  row_hashes bytea,
  rows_hash bytea not null,
  previous_hash bytea not null,
  hash bytea not null,
  signature bytea not null,
  sealed_at timestamptz not null,
  -- Time of the newest row in it; what retention goes by.
  newest_at timestamptz not null,
  removed_at timestamptz,
  removal_signature bytea,
  check ((removed_at is null) = (row_hashes is not null)),
  check ((removed_at is null) = (removal_signature is null))
);

alter table audit_action add column seal_no bigint;
alter table audit_event add column seal_no bigint;
create index audit_action_seal on audit_action (seal_no);
create index audit_event_seal on audit_event (seal_no);
create index audit_action_unsealed on audit_action (created_at, action_id) where seal_no is null and status <> 'Pending';
create index audit_event_unsealed on audit_event (created_at, event_id) where seal_no is null;

-- Filters of the two logs.
create index audit_action_by_actor on audit_action (actor_id, created_at desc) where actor_id is not null;
create index audit_event_by_actor on audit_event (actor_id, created_at desc) where actor_id is not null;
create index audit_action_by_name on audit_action (action, created_at desc);
create index audit_event_by_name on audit_event (event, created_at desc);
create index audit_action_by_status on audit_action (status, created_at desc) where status <> 'Succeeded';

-- The list of accounts, and registrations and mailed links that nobody used.
create index user_latest on "user" (created_at desc, user_id desc);
create index registration_open on registration (created_at) where status = 'Pending';
create index mailed_token_expiry on mailed_token (expires_at);

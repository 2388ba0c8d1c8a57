-- Webhooks of an organization or of one of its projects. The address, the credential and the signing secrets are encrypted
-- (`platform/storage/secret-box.ts`). `shown_address` has no part that may be secret. `types` is null for all types of messages.
create table webhook (
  webhook_id text primary key,
  organization_id text not null references organization on delete cascade,
  project_id text references project on delete cascade,
  name text not null,
  format text not null check (format in ('standard', 'slack', 'teams', 'matrix', 'ntfy', 'pagerduty', 'custom')),
  address bytea not null,
  shown_address text not null,
  credential bytea,
  room text,
  template text,
  types text[],
  secret bytea not null,
  former_secret bytea,
  former_until timestamptz,
  is_enabled boolean not null default true,
  off_reason text check (off_reason in ('Gone', 'NoSuccess')),
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
create index webhook_by_organization on webhook (organization_id, name, webhook_id);
create index webhook_by_project on webhook (project_id) where project_id is not null;

-- What a webhook has to do. The dispatcher and the nodes that deliver write these rows, apart from the settings that people lock. `due_at` is
-- null if nothing waits. A node that delivers has claimed the row until `claimed_until`, which it renews; another node takes over after that.
-- `held_at` is set by a restore: messages wait until a person decides about them. `failures` counts failed attempts in a row.
create table webhook_queue (
  webhook_id text primary key references webhook on delete cascade,
  due_at timestamptz,
  claimed_by text,
  claimed_until timestamptz,
  held_at timestamptz,
  failures integer not null default 0,
  failing_since timestamptz,
  last_attempt_at timestamptz,
  last_success_at timestamptz,
  waiting integer not null default 0,
  dropped integer not null default 0
);
create index webhook_queue_due on webhook_queue (due_at) where due_at is not null;
create index webhook_queue_claimed on webhook_queue (claimed_until) where claimed_until is not null;

-- A message for a webhook. Its text is in `outbox`. `tries` counts attempts since the message began to wait, for the pauses between them. There
-- are no foreign keys: old rows are removed in portions, with those of deleted webhooks.
create table webhook_delivery (
  webhook_id text not null,
  message_id text not null,
  created_at timestamptz not null,
  position bigint not null,
  type text not null,
  state text not null default 'Waiting' check (state in ('Waiting', 'Delivered', 'Failed')),
  tries integer not null default 0,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  primary key (webhook_id, message_id)
);
create index webhook_delivery_due on webhook_delivery (webhook_id, due_at, position) where state = 'Waiting';
create index webhook_delivery_oldest on webhook_delivery (webhook_id, position) where state = 'Waiting';
create index webhook_delivery_failed on webhook_delivery (webhook_id, created_at) where state = 'Failed';
create index webhook_delivery_by_age on webhook_delivery (created_at);

-- Attempts to deliver a message, with the beginning of the answer.
create table webhook_attempt (
  webhook_id text not null,
  message_id text not null,
  attempt integer not null,
  type text not null,
  attempted_at timestamptz not null,
  took_ms integer not null,
  status integer,
  error text,
  answer text,
  primary key (webhook_id, message_id, attempt)
);
create index webhook_attempt_latest on webhook_attempt (webhook_id, attempted_at desc, message_id desc);
create index webhook_attempt_by_age on webhook_attempt (attempted_at);

-- Makes the trigger of the outbox copy the events of an organization exactly while a feed or a webhook reads them. The lock comes first, so that
-- the next statement sees what the transaction before has committed.
create function refresh_outbox_reader(organization text) returns void language plpgsql as $$
begin
  perform from outbox_reader where organization_id = organization for no key update;
  update outbox_reader r
     set is_copied = r.feed_epoch is not null
         or exists (select from webhook w where w.organization_id = organization and w.is_enabled)
   where r.organization_id = organization;
end $$;

create function webhook_changes_reader() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into outbox_reader (organization_id) values (new.organization_id) on conflict do nothing;
  end if;
  perform refresh_outbox_reader(case tg_op when 'DELETE' then old.organization_id else new.organization_id end);
  return null;
end $$;
create trigger webhook_changed after insert or delete or update of is_enabled on webhook
  for each row execute function webhook_changes_reader();

-- Exports of the events of a project's devices as OTLP log records. An export is a webhook of the format `otlp`, of which a project has at most
-- one. `credential` holds its headers. `types` is empty, because it gets no messages of the outbox.
alter table webhook drop constraint webhook_format_check;
alter table webhook add constraint webhook_format_check
  check (format in ('standard', 'slack', 'teams', 'matrix', 'ntfy', 'pagerduty', 'custom', 'otlp'));
create unique index webhook_export on webhook (project_id) where format = 'otlp';

-- Items of a message: events of a batch, else 1. The counts of `webhook_queue` are counts of items.
alter table webhook_delivery add column items integer not null default 1;

-- Keys of events that an export has not sent. The statement that stores the events of such a project inserts them, so that no event is missed and
-- none is exported twice. A row has up to 512 events of a project and a batch of the ingest. `message_id` is null until the row is part of a
-- message. Rows of delivered messages are deleted. There are no foreign keys: events may be deleted while they wait.
create table event_export (
  export_id text primary key default gen_random_uuid()::text,
  project_id text not null,
  message_id text,
  device_ids text[] not null,
  event_ids text[] not null,
  event_days text[] not null,
  bytes integer not null,
  created_at timestamptz not null default now()
);
create index event_export_new on event_export (project_id, created_at) where message_id is null;
create index event_export_message on event_export (message_id) where message_id is not null;

-- As in 0048, but an export needs no messages of the outbox.
create or replace function refresh_outbox_reader(organization text) returns void language plpgsql as $$
begin
  perform from outbox_reader where organization_id = organization for no key update;
  update outbox_reader r
     set is_copied = r.feed_epoch is not null
         or exists (select from webhook w where w.organization_id = organization and w.is_enabled and w.format <> 'otlp')
   where r.organization_id = organization;
end $$;

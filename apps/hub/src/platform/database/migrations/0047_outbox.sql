-- Messages about what happens in an organization, for programs that are not part of the hub: webhooks and the feed of events. A trigger
-- copies each audit event of an organization that has such a reader, in the transaction of the event, so that no writer can forget it.

-- Organizations whose audit events are copied. `feed_epoch` is null while the feed is off. Cursors of the feed contain it, so that a cursor
-- from before a restore, or from before the feed was turned off, is refused. The feed answers positions after `feed_from`.
create table outbox_reader (
  organization_id text primary key references organization on delete cascade,
  is_copied boolean not null default false,
  feed_epoch text,
  feed_from bigint not null default 0
);
create index outbox_reader_copied on outbox_reader (organization_id) where is_copied;

-- Number of the last message of an organization, and of the last one that was removed because of its age. Only the dispatcher writes these
-- rows, apart from handlers that hold rows of `outbox_reader`, so it waits for nobody. Without a foreign key, an organization that is being
-- deleted does not hold it up either.
create table outbox_position (
  organization_id text primary key,
  last_position bigint not null default 0,
  removed_position bigint not null default 0
);

-- `position` is null until the dispatcher has numbered the message, which it does after the commit. Numbers from the inserting transaction
-- would let a reader pass a message whose transaction commits later.
create table outbox (
  message_id text not null,
  organization_id text not null,
  project_id text,
  type text not null,
  -- Further ids of the audit event, as the envelope of a message has them: `{"deviceId": …}`.
  ids jsonb not null default '{}',
  actor jsonb,
  data jsonb not null,
  old_data json,
  created_at timestamptz not null,
  position bigint,
  primary key (created_at, message_id)
) partition by range (created_at);
create index outbox_by_position on outbox (organization_id, position) where position is not null;
create index outbox_unnumbered on outbox (created_at, message_id) where position is null;
-- Rows of a day without a partition. The partitions of days are created by `maintain_outbox`.
create table outbox_default partition of outbox default;

-- An id of a message is that of its audit event with another prefix, so a repeated delivery has the same id.
create function copy_to_outbox() returns trigger language plpgsql as $$
begin
  -- Two checks, because the insert costs more than both even if it finds nothing.
  if exists (select from outbox_reader where is_copied)
     and exists (select from added e join outbox_reader r on r.organization_id = e.organization_id and r.is_copied) then
    insert into outbox (message_id, organization_id, project_id, type, ids, actor, data, old_data, created_at)
    select 'msg' || substr(e.event_id, 9), e.organization_id, e.project_id, replace(e.event, '_', '.'),
           jsonb_strip_nulls(jsonb_build_object('eventId', e.event_id, 'actionId', e.action_id, 'jobId', e.job_id, 'userId', e.user_id,
                                                'repositoryId', e.repository_id, 'deviceId', e.device_id)),
           e.actor, e.data, e.old_data, e.created_at
      from added e join outbox_reader r on r.organization_id = e.organization_id and r.is_copied;
  end if;
  return null;
end $$;
create trigger audit_event_copied after insert on audit_event
  referencing new table as added for each statement execute function copy_to_outbox();

-- Creates the partitions of the coming days and drops those beyond the retention. A partition is dropped only when its day is past the
-- retention both by the clock and by the newest stored day, as in `maintain_partitions` (0016). `removed_position` is raised before, so that
-- a reader whose next message is gone learns it.
create function maintain_outbox(retention_days integer) returns void
  language plpgsql security definer set search_path from current
  as $$
declare
  day date;
  name text;
  today date := (now() at time zone 'UTC')::date;
  newest date;
begin
  perform pg_advisory_xact_lock(hashtext('muster.outbox-partitions'));
  for day in select generate_series(today, today + 3, interval '1 day')::date loop
    name := 'outbox_' || to_char(day, 'YYYYMMDD');
    if to_regclass(name) is not null then
      continue;
    end if;
    lock table outbox_default in access exclusive mode;
    execute format('create table %I (like outbox including all)', name);
    execute format('with moved as (delete from outbox_default
      where created_at >= %L and created_at < %L returning *) insert into %I select * from moved',
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC', name);
    execute format('alter table outbox attach partition %I for values from (%L) to (%L)', name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
  end loop;

  select (max(created_at) at time zone 'UTC')::date into newest from outbox where created_at < now();
  newest := least(today, coalesce(newest, today));
  for name, day in
    select child.relname, to_date(right(child.relname, 8), 'YYYYMMDD') from pg_inherits
      join pg_class child on child.oid = inhrelid
      where inhparent = 'outbox'::regclass and child.relname ~ '^outbox_\d{8}$'
        and to_date(right(child.relname, 8), 'YYYYMMDD') < least(today, newest) - retention_days
  loop
    execute format('insert into outbox_position as p (organization_id, last_position, removed_position)
      select organization_id, max(position), max(position) from %I where position is not null group by organization_id
      on conflict (organization_id) do update set removed_position = greatest(p.removed_position, excluded.removed_position)', name);
    execute format('drop table %I', name);
  end loop;
  with gone as (
    delete from outbox_default where created_at < least(now(), (newest + 1)::timestamp at time zone 'UTC') - make_interval(days => retention_days)
    returning organization_id, position)
  insert into outbox_position as p (organization_id, last_position, removed_position)
  select organization_id, max(position), max(position) from gone where position is not null group by organization_id
  on conflict (organization_id) do update set removed_position = greatest(p.removed_position, excluded.removed_position);
end $$;

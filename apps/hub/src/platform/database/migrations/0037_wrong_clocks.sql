-- Events whose time is implausible, because the clock of their device was wrong (queries/devices/event-times.ts). They are stored under a
-- day that no id has, in a partition of their own, whose index orders them by their receipt. Without the constraint, attaching the
-- partition would read the whole default partition under an exclusive lock.
alter table device_event_default validate constraint device_event_default_days;
create table device_event_wrong_clock partition of device_event for values from ('10000-01-01') to ('10000-01-02');
create index device_event_wrong_clock_latest on device_event_wrong_clock (device_id, received_at desc, event_id desc);

-- As in 0016, and also removes old rows of the new partition.
create or replace function maintain_partitions(retention_days integer) returns void
  language plpgsql security definer set search_path from current
  as $$
declare
  parent text;
  day date;
  opens timestamptz;
  name text;
  today date := (now() at time zone 'UTC')::date;
  newest date;
  has_rows boolean;
  -- Rows of a default partition that are older are deleted.
  oldest_kept timestamptz;
begin
  perform pg_advisory_xact_lock(hashtext('muster.partitions'));
  foreach parent in array array['device_event', 'device_property_change'] loop
    for day in select generate_series(today - least(7, retention_days), today + 3, interval '1 day')::date loop
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      if to_regclass(name) is not null then
        continue;
      end if;
      -- Keeps other transactions from adding a row of that day to the default partition between the move and the attachment.
      execute format('lock table %I in access exclusive mode', parent || '_default');
      -- Moves the rows of that day out of the default partition. Otherwise the new partition could not be attached.
      execute format('create table %I (like %I including all)', name, parent);
      if parent = 'device_event' then
        execute format('with moved as (delete from device_event_default where event_day = %L returning *)
          insert into %I select * from moved', day, name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
      else
        opens := day::timestamp at time zone 'UTC';
        execute format('with moved as (delete from device_property_change_default
          where changed_at >= %L and changed_at < %L returning *) insert into %I select * from moved',
          opens, opens + interval '1 day', name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
          opens, opens + interval '1 day');
      end if;
    end loop;

    newest := null;
    for name, day in
      select child.relname, to_date(right(child.relname, 8), 'YYYYMMDD') from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = parent::regclass and child.relname ~ ('^' || parent || '_\d{8}$')
        order by 2 desc
    loop
      execute format('select exists (select from %I)', name) into has_rows;
      if not has_rows then
        continue;
      end if;
      if newest is null then
        newest := day;
        continue;
      end if;
      if newest - day > retention_days then
        newest := day;
      end if;
      exit;
    end loop;
    -- Nothing is stored: the clock alone counts.
    newest := least(today, coalesce(newest, today));

    for name, day in
      select child.relname, to_date(right(child.relname, 8), 'YYYYMMDD') from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = parent::regclass and child.relname ~ ('^' || parent || '_\d{8}$')
          and to_date(right(child.relname, 8), 'YYYYMMDD') < today - retention_days
    loop
      if day >= newest - retention_days then
        execute format('select exists (select from %I)', name) into has_rows;
        if has_rows then
          continue;
        end if;
      end if;
      execute format('drop table %I', name);
    end loop;

    oldest_kept := least(now(), (newest + 1)::timestamp at time zone 'UTC') - make_interval(days => retention_days);
    if parent = 'device_event' then
      delete from device_event_default where received_at < oldest_kept;
      delete from device_event_wrong_clock where received_at < oldest_kept;
    else
      delete from device_property_change_default where changed_at < oldest_kept;
    end if;
  end loop;
end $$;

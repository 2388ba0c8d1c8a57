-- Key of the name of a project, as that of a device (0040). Empty until the job `devices_FillNameKeys` has made it.
alter table project add column name_key text collate "C" not null default '';
create trigger project_name_changed before update of name on project
  for each row when (new.name is distinct from old.name and new.name_key = old.name_key) execute function forget_name_key();

-- As in 0037, for database engines that keep the rows on several servers (docs/scaling.md): subqueries name a column, and each new
-- partition of property changes, which have no unique key, has the replica identity without which such an engine cannot move it.
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
        execute format('alter table %I replica identity full', name);
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
      execute format('select exists (select 1 from %I)', name) into has_rows;
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
        execute format('select exists (select 1 from %I)', name) into has_rows;
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

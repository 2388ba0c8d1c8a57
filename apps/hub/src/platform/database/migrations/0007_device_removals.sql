-- Devices that were deleted, whichever way their row went, until a job has removed their events and property changes, which have no
-- foreign key. An event that is being stored while its device is deleted comes behind the deletion.
create table device_removal (
  device_id text primary key,
  removed_at timestamptz not null
);

create function leave_device_removals() returns trigger language plpgsql as $$
begin
  insert into device_removal (device_id, removed_at)
  select device_id, clock_timestamp() from removed;
  return null;
end $$;
create trigger device_history_left after delete on device
  referencing old table as removed for each statement execute function leave_device_removals();

-- Counted anew: a node that ran during the migration before may have added or removed devices between its count and its triggers.
lock table device in share row exclusive mode;
delete from project_device_count;
insert into project_device_count select project_id, 0, count(*) from device group by project_id;

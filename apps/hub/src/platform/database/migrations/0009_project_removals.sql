-- A project goes at once, whatever it holds; its devices have no foreign key to it, so that a job removes them a few at a time.
-- Meanwhile nothing finds them, since every look at a device goes through its project.
alter table device drop constraint device_project_id_fkey;

-- Projects that were deleted, whichever way their row went, until a job has removed their devices.
create table project_removal (
  project_id text primary key,
  removed_at timestamptz not null
);

create function leave_project_removals() returns trigger language plpgsql as $$
begin
  insert into project_removal (project_id, removed_at)
  select project_id, clock_timestamp() from removed;
  return null;
end $$;
create trigger project_devices_left after delete on project
  referencing old table as removed for each statement execute function leave_project_removals();

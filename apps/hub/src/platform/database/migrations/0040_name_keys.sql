-- Key of the name of a device, or else of its host name, whose byte order is the natural order of names (`nameKey` in
-- packages/predicates). It begins with the version of the order. Empty until the job `devices_FillNameKeys` has read the device.
alter table device add column name_key text collate "C" not null default '';
create index device_by_name_key on device (project_id, name_key, device_id);

-- A node of an older release changes the name only. The job then makes the key again. The condition calls the function for such changes
-- only, because devices report their host name often.
create function forget_name_key() returns trigger language plpgsql as $$
begin
  new.name_key := '';
  return new;
end $$;
create trigger device_name_changed before update of name, hostname on device
  for each row when (
    coalesce(new.name, new.hostname, '') is distinct from coalesce(old.name, old.hostname, '') and new.name_key = old.name_key
  ) execute function forget_name_key();

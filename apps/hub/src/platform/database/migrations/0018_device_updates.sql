-- State of the software update of a device, from its property `dev.nexigon.ota.status`, for device lists. A row exists while the property
-- exists and is written together with it. `property_version` is the version of the property that the row was read from.
create table device_update (
  device_id text primary key references device on delete cascade,
  property_version bigint not null,
  path text,
  current_version text,
  target_version text,
  state text,
  failure_count bigint,
  error text
);

-- Devices whose update failed, which are few.
create index device_update_failed on device_update (device_id) where state = 'failed' or failure_count > 0;

-- Devices that report a problem, which are few. Neither connecting nor disconnecting changes an entry.
create index device_by_problem on device (project_id, health, device_id) where health in ('degraded', 'error');

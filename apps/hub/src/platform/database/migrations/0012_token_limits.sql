-- Limits on the devices that enrol with a deployment token. Null means the default of the instance.
-- budget_used is the number of new devices that count against the budget at budget_at; it falls by new_devices_per_hour.
alter table deployment_token
  add column expires_at timestamptz,
  add column device_limit integer check (device_limit > 0),
  add column new_devices_at_once integer check (new_devices_at_once > 0),
  add column new_devices_per_hour integer check (new_devices_per_hour > 0),
  add column budget_used double precision not null default 0,
  add column budget_at timestamptz not null default now(),
  add column enrolled_devices integer not null default 0,
  add column refused_devices bigint not null default 0;

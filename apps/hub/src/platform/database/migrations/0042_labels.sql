-- Labels of devices: each key of the property `dev.muster.labels`, for conditions, sort orders and suggestions. Triggers keep the rows, so
-- that they are right whoever writes the property.
create table device_label (
  device_id text not null references device on delete cascade,
  key text not null collate "C",
  project_id text not null,
  value text not null collate "C",
  primary key (device_id, key)
);
create index device_label_by_value on device_label (project_id, key, value, device_id);

-- Labels that a token gives to the devices that enrol with it, as JSON object.
alter table deployment_token add column labels jsonb;

-- Only people write labels: the property is always protected, and a device cannot create a protected property. An older node does not know
-- this, so its write fails here. Values that are no labels, which a person may have set with an older node, are left out.
create function write_device_labels() returns trigger language plpgsql as $$
begin
  if not new.protected then
    raise exception 'Only people set the labels of a device.' using errcode = 'insufficient_privilege';
  end if;
  delete from device_label l where l.device_id = new.device_id
     and coalesce(new.value_json -> l.key <> to_jsonb(l.value), true);
  insert into device_label (device_id, key, project_id, value)
  select d.device_id, m.key, d.project_id, m.value #>> '{}'
    from device d
   cross join lateral jsonb_each(case jsonb_typeof(new.value_json) when 'object' then new.value_json else '{}' end) m
   where d.device_id = new.device_id and jsonb_typeof(m.value) = 'string'
     and m.key ~ '^[a-z0-9._-]{1,63}$' and length(m.value #>> '{}') <= 255
  on conflict (device_id, key) do nothing;
  return null;
end $$;
create function remove_device_labels() returns trigger language plpgsql as $$
begin
  delete from device_label where device_id = old.device_id;
  return null;
end $$;
-- The conditions call the functions for labels only, because devices write other properties often.
create trigger device_labels_written after insert or update on device_property
  for each row when (new.name = 'dev.muster.labels') execute function write_device_labels();
create trigger device_labels_removed after delete on device_property
  for each row when (old.name = 'dev.muster.labels') execute function remove_device_labels();

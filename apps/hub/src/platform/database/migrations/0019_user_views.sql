-- What a person has chosen in a project: the columns of the device list, and the properties that are pinned on the pages of devices.
create table user_view (
  user_id text not null references "user" on delete cascade,
  project_id text not null references project on delete cascade,
  columns jsonb,
  name_width_px integer,
  pinned_properties jsonb,
  primary key (user_id, project_id)
);
create index user_view_project on user_view (project_id);

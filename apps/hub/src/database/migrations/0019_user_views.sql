-- Columns that a person has chosen for the device list of a project.
create table user_view (
  user_id text not null references "user" on delete cascade,
  project_id text not null references project on delete cascade,
  columns jsonb,
  name_width_px integer,
  primary key (user_id, project_id)
);
create index user_view_project on user_view (project_id);

-- Properties that a person has pinned on the pages of the devices of a project.
create table pinned_properties (
  user_id text not null references "user" on delete cascade,
  project_id text not null references project on delete cascade,
  properties jsonb not null,
  primary key (user_id, project_id)
);
-- For the deletion of a project.
create index pinned_properties_project on pinned_properties (project_id);

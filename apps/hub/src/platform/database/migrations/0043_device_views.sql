-- Saved views of the device list of a project. A private view is its owner's alone. A shared one outlives its owner. A deleted view is kept
-- for some time, so that a link to it says what became of it.
create table device_view (
  view_id text primary key,
  project_id text not null references project on delete cascade,
  owner_id text references "user" on delete set null,
  name text not null,
  filter jsonb not null,
  columns jsonb,
  sort text,
  is_shared boolean not null,
  is_in_row boolean not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  deleted_at timestamptz,
  deleted_by jsonb
);
create index device_view_by_name on device_view (project_id, name, view_id) where deleted_at is null;
create index device_view_deleted on device_view (deleted_at) where deleted_at is not null;
create index device_view_owner on device_view (owner_id);

-- Names that a repository gave up by a change of slug or display name: they keep leading to it, and no other repository gets the slug.
create table repository_former_name (
  repository_id text not null references repository on delete cascade,
  name text not null,
  is_slug boolean not null,
  given_up_at timestamptz not null,
  primary key (repository_id, name)
);
create unique index repository_former_slug on repository_former_name (name) where is_slug;
create index repository_former_name_name on repository_former_name (name);

-- Size of the metadata of packages, versions and files of each repository, for the limit `organization-bytes`. The job
-- `devices_MeasureStored` fills it; a repository without a row counts as empty.
create table repository_stored_bytes (
  repository_id text primary key references repository on delete cascade,
  metadata_bytes bigint not null,
  measured_at timestamptz not null
);

-- True for tokens that existed before the limits of links and streams of a person. Until the next release they are warned about instead
-- of refused. The first default fills existing rows without rewriting them, the second holds for new rows.
alter table user_token add column predates_shares boolean not null default true;
alter table user_token alter column predates_shares set default false;

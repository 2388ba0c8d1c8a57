-- Repositories, their packages and the blobs behind them.

-- Files of a package itself, beside those of its versions.
create table package_asset (
  package_id text not null references package on delete cascade,
  filename text not null,
  asset_id text not null references asset on delete restrict,
  metadata jsonb not null default '{}',
  primary key (package_id, filename)
);
create index package_asset_asset on package_asset (asset_id);

-- Places that speak S3: the instance's own, from its settings, and those of repositories. A place stays as long as blobs lie in it,
-- also when its repository has moved on to another or is gone. The secret is encrypted with a key from outside of the database.
create table object_store (
  store_id text primary key,
  is_instance boolean not null,
  endpoint text not null,
  bucket text not null,
  region text,
  prefix text,
  force_path_style boolean not null,
  -- Whether it refuses to replace an object when asked so; null until it was tried.
  takes_conditions boolean,
  access_key_id text not null,
  secret_access_key bytea not null
);
create unique index object_store_instance on object_store (endpoint, bucket) where is_instance;

alter table repository
  drop column s3_endpoint,
  drop column s3_bucket,
  drop column s3_region,
  drop column s3_prefix,
  drop column s3_force_path_style,
  drop column s3_access_key_id,
  drop column s3_secret_access_key,
  add column store_id text references object_store;
create index repository_store on repository (store_id) where store_id is not null;

-- What the last look at the stored bytes of a blob found (catalogue 4.7). Where they lie (in which store, or without one in the
-- hub's folder) is fixed when the blob is registered, so that new S3 settings of a repository do not lose the blobs of before.
alter table asset
  add column storage_status text not null default 'Unknown'
    check (storage_status in ('Unknown', 'Present', 'Verified', 'Missing', 'Mismatched', 'Error')),
  add column storage_checked_at timestamptz,
  add column storage_detail text,
  add column store_id text references object_store,
  add column object_key text,
  -- Of an available blob whose digest is of another kind.
  add column sha256 bytea,
  add check ((store_id is null) = (object_key is null));
create index asset_store on asset (store_id) where store_id is not null;

-- Stored bytes whose blob is gone, until they are gone too. However a blob is deleted, also by what it belongs to, they get here.
create table blob_removal (
  asset_id text not null,
  store_id text references object_store,
  object_key text not null,
  attempts integer not null default 0,
  not_before timestamptz not null default now(),
  detail text,
  primary key (asset_id, object_key)
);
create index blob_removal_due on blob_removal (not_before);
create index blob_removal_store on blob_removal (store_id) where store_id is not null;

create function remove_blob() returns trigger language plpgsql as $$
begin
  insert into blob_removal (asset_id, store_id, object_key, not_before)
  values (
    old.asset_id, old.store_id, coalesce(old.object_key, ''),
    -- A signed address may still take bytes for it; none lives longer.
    now() + case when old.status = 'Dangling' and old.store_id is not null then interval '3 hours' else interval '0' end
  )
  on conflict do nothing;
  return null;
end $$;
create trigger asset_removed after delete on asset for each row execute function remove_blob();

create index asset_repository_latest on asset (repository_id, created_at desc, asset_id desc);
create index asset_unfinished on asset (created_at) where status <> 'Available';

-- Lists of versions go by the id where two are of one moment.
create index package_version_latest on package_version (package_id, created_at desc, version_id desc);
drop index package_version_package;
create index package_created on package (repository_id, created_at, package_id);

-- Paths find a repository by the name that people see, where it has no handle of its own (catalogue 4.5).
create index repository_name on repository (display_name);

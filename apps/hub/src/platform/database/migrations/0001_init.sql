-- The entity model of the hub. Ids are wire ids (text with a prefix); secrets are stored as SHA-256 of the whole secret and
-- found by their public part; history tables only grow.

-- People

create table "user" (
  user_id text primary key,
  email text not null,
  display_name text,
  password_hash text,
  is_admin boolean not null default false,
  is_active boolean not null default true,
  consented_to_terms boolean not null default false,
  consented_to_marketing boolean not null default false,
  created_at timestamptz not null default now()
);
create unique index user_email_key on "user" (lower(email));

create table registration (
  user_id text primary key references "user" on delete cascade,
  status text not null check (status in ('Pending', 'Waiting', 'Completed', 'Failed')),
  message text,
  created_at timestamptz not null default now()
);

create table session (
  session_id text primary key,
  token_hash bytea not null,
  user_id text not null references "user" on delete cascade,
  user_agent text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index session_by_user on session (user_id);
create index session_expiry on session (expires_at);

create table user_token (
  token_id text primary key,
  token_hash bytea not null,
  user_id text not null references "user" on delete cascade,
  name text,
  created_at timestamptz not null default now()
);
create index user_token_by_user on user_token (user_id);

-- Mailed links: each JWT has a row and works once.
create table mailed_token (
  jwt_id text primary key,
  purpose text not null check (purpose in ('Activation', 'PasswordReset', 'EmailChange')),
  user_id text not null references "user" on delete cascade,
  new_email text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index mailed_token_user on mailed_token (user_id);

-- Organizations

create table organization (
  organization_id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table organization_member (
  organization_id text not null references organization on delete cascade,
  user_id text not null references "user" on delete cascade,
  is_admin boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index organization_member_user on organization_member (user_id);

create table organization_invitation (
  invitation_id text primary key,
  organization_id text not null references organization on delete cascade,
  email text not null,
  inviting_user_id text references "user" on delete set null,
  created_at timestamptz not null default now()
);
create unique index organization_invitation_email on organization_invitation (organization_id, lower(email));
create index organization_invitation_by_email on organization_invitation (lower(email));
create index organization_invitation_inviting_user on organization_invitation (inviting_user_id);

-- Projects and devices

create table project (
  project_id text primary key,
  organization_id text not null references organization on delete cascade,
  name text not null,
  created_at timestamptz not null default now()
);
create index project_organization on project (organization_id, name, project_id);

create table deployment_token (
  token_id text primary key,
  token_hash bytea not null,
  project_id text not null references project on delete cascade,
  name text,
  auto_accept boolean not null default false,
  created_at timestamptz not null default now(),
  last_refusal_at timestamptz,
  last_refusal_reason text,
  last_refusal_count integer not null default 0
);
create index deployment_token_project on deployment_token (project_id, created_at);

-- is_connected to health summarise other tables and change in the transaction that changes those.
create table device (
  device_id text primary key,
  project_id text not null references project on delete cascade,
  fingerprint_id text not null,
  fingerprint_hash bytea not null,
  name text,
  first_seen timestamptz not null default now(),
  is_connected boolean not null default false,
  connection_id text,
  last_connected_at timestamptz,
  pending_certificates integer not null default 0,
  hostname text,
  health text,
  last_refusal_at timestamptz,
  last_refusal_reason text,
  last_refusal_count integer not null default 0,
  unique (project_id, fingerprint_hash)
);
create index device_by_first_seen on device (project_id, first_seen, device_id);
create index device_by_name on device (project_id, (coalesce(name, '')), device_id);
create index device_by_status on device (project_id, is_connected, device_id);
create index device_by_pending on device (project_id, pending_certificates, device_id);

create table device_certificate (
  certificate_id text primary key,
  device_id text not null references device on delete cascade,
  fingerprint text not null,
  status text not null check (status in ('Pending', 'Active', 'Rejected', 'Revoked')),
  first_seen timestamptz not null default now(),
  unique (device_id, fingerprint)
);
create index device_certificate_fingerprint on device_certificate (fingerprint);

-- A rejected or revoked certificate stays refused after it was deleted.
create table device_certificate_tombstone (
  device_id text not null references device on delete cascade,
  fingerprint text not null,
  status text not null check (status in ('Rejected', 'Revoked')),
  created_at timestamptz not null default now(),
  primary key (device_id, fingerprint)
);

create table device_certificate_change (
  device_id text not null references device on delete cascade,
  certificate_id text not null,
  fingerprint text not null,
  status text not null check (status in ('Pending', 'Active', 'Rejected', 'Revoked', 'Deleted')),
  actor jsonb not null,
  changed_at timestamptz not null default now()
);
create index device_certificate_change_device on device_certificate_change (device_id, changed_at);

create table cluster_node (
  node_id text primary key,
  name text not null,
  joined_at timestamptz not null default now(),
  last_heartbeat timestamptz not null default now(),
  left_at timestamptz
);

create table device_connection (
  connection_id text primary key,
  device_id text not null references device on delete cascade,
  node_id text not null,
  token_id text not null,
  certificate_id text not null,
  connected_at timestamptz not null default now(),
  ended_at timestamptz,
  end_reason text check (end_reason in ('Unknown', 'Disconnected', 'NodeCrashed', 'ServerShutdown')),
  check ((ended_at is null) = (end_reason is null))
);
create index device_connection_device on device_connection (device_id, connected_at desc);
create index device_connection_open on device_connection (node_id) where ended_at is null;

-- value is the JSON text as it came; value_json is the same for filters, null where jsonb cannot hold it.
create table device_property (
  device_id text not null references device on delete cascade,
  name text not null,
  value json not null,
  value_json jsonb,
  protected boolean not null default false,
  version bigint not null default 1,
  last_updated timestamptz not null default now(),
  primary key (device_id, name)
);

-- value is null where the property was removed.
create table device_property_change (
  device_id text not null,
  name text not null,
  version bigint not null,
  value json,
  actor jsonb not null,
  changed_at timestamptz not null default now()
) partition by range (changed_at);
create table device_property_change_default partition of device_property_change default;
create index device_property_change_device on device_property_change (device_id, name, changed_at);

-- event_day is the UTC date inside the event id, so that an event sent twice meets itself in one partition.
create table device_event (
  device_id text not null,
  event_id text not null,
  event_day date not null,
  severity text not null check (severity in ('Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical')),
  category text,
  body json not null,
  attributes json not null,
  emitted_at timestamptz not null,
  received_at timestamptz not null default now(),
  primary key (device_id, event_id, event_day)
) partition by range (event_day);
create table device_event_default partition of device_event default;
create index device_event_latest on device_event (device_id, emitted_at desc, event_id desc);

-- Repositories

create table repository (
  repository_id text primary key,
  organization_id text not null references organization on delete cascade,
  display_name text not null,
  slug text unique,
  visibility text not null default 'Private' check (visibility in ('Public', 'Private')),
  s3_endpoint text,
  s3_bucket text,
  s3_region text,
  s3_prefix text,
  s3_force_path_style boolean,
  s3_access_key_id text,
  s3_secret_access_key bytea,
  created_at timestamptz not null default now()
);
create index repository_organization on repository (organization_id, display_name, repository_id);

create table project_repository (
  project_id text not null references project on delete cascade,
  repository_id text not null references repository on delete cascade,
  created_at timestamptz not null default now(),
  primary key (project_id, repository_id)
);
create index project_repository_repository on project_repository (repository_id);

create table package (
  package_id text primary key,
  repository_id text not null references repository on delete cascade,
  name text not null,
  kind text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  unique (repository_id, name)
);

create table package_version (
  version_id text primary key,
  package_id text not null references package on delete cascade,
  name text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index package_version_package on package_version (package_id, created_at desc);

create table package_tag (
  package_id text not null references package on delete cascade,
  tag text not null,
  version_id text not null references package_version on delete cascade,
  locked boolean not null default false,
  primary key (package_id, tag)
);
create index package_tag_version on package_tag (version_id);

-- version_id is null where the tag was removed.
create table package_tag_change (
  package_id text not null references package on delete cascade,
  tag text not null,
  version_id text,
  locked boolean not null,
  actor jsonb not null,
  changed_at timestamptz not null default now()
);
create index package_tag_change_package on package_tag_change (package_id, tag, changed_at);

create table asset (
  asset_id text primary key,
  repository_id text not null references repository on delete cascade,
  size_bytes bigint not null check (size_bytes >= 0),
  digest text not null,
  status text not null default 'Dangling' check (status in ('Dangling', 'Available', 'Deleting')),
  created_at timestamptz not null default now(),
  unique (repository_id, digest)
);

create table version_asset (
  version_id text not null references package_version on delete cascade,
  filename text not null,
  asset_id text not null references asset on delete restrict,
  metadata jsonb not null default '{}',
  primary key (version_id, filename)
);
create index version_asset_asset on version_asset (asset_id);

-- Audit: rows outlive what they speak of, so nothing here refers to other tables.

create table audit_action (
  action_id text primary key,
  action text not null,
  actor jsonb not null,
  actor_id text,
  data jsonb not null,
  status text not null check (status in ('Pending', 'Succeeded', 'Failed', 'Rejected', 'Panicked')),
  node_id text not null,
  request_id text not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  check ((status = 'Pending') = (finished_at is null))
);
create index audit_action_latest on audit_action (created_at desc, action_id desc);
create index audit_action_pending on audit_action (node_id) where status = 'Pending';

create table audit_event (
  event_id text primary key,
  event text not null,
  actor jsonb not null,
  actor_id text,
  data jsonb not null,
  action_id text,
  job_id text,
  user_id text,
  organization_id text,
  project_id text,
  repository_id text,
  device_id text,
  created_at timestamptz not null default now()
);
create index audit_event_latest on audit_event (created_at desc, event_id desc);
create index audit_event_organization on audit_event (organization_id, created_at desc) where organization_id is not null;
create index audit_event_project on audit_event (project_id, created_at desc) where project_id is not null;
create index audit_event_repository on audit_event (repository_id, created_at desc) where repository_id is not null;
create index audit_event_device on audit_event (device_id, created_at desc) where device_id is not null;
create index audit_event_user on audit_event (user_id, created_at desc) where user_id is not null;

create table instance_setting (
  key text primary key,
  value jsonb not null
);

-- jsonb refuses some JSON that json keeps (NUL escapes, lone surrogates, huge numbers): null then.
create function jsonb_or_null(text) returns jsonb
  language plpgsql immutable strict parallel safe
  as $$ begin return $1::jsonb; exception when others then return null; end $$;

-- Makes the daily partitions around today and drops those older than the retention. Definer's rights, because the hub's own
-- role owns no tables. Partitions reach a week back for devices that send late; older days fall into the default partition.
create function maintain_partitions(retention_days integer) returns void
  language plpgsql security definer set search_path from current
  as $$
declare
  parent text;
  day date;
  opens timestamptz;
  name text;
  today date := (now() at time zone 'UTC')::date;
begin
  perform pg_advisory_xact_lock(hashtext('muster.partitions'));
  foreach parent in array array['device_event', 'device_property_change'] loop
    for day in select generate_series(today - least(7, retention_days), today + 3, interval '1 day')::date loop
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      if to_regclass(name) is not null then
        continue;
      end if;
      -- Nobody may add a row of that day to the default partition between the move and the attachment.
      execute format('lock table %I in access exclusive mode', parent || '_default');
      -- Rows of that day may already lie in the default partition: they move, or the new partition could not be attached.
      execute format('create table %I (like %I including all)', name, parent);
      if parent = 'device_event' then
        execute format('with moved as (delete from device_event_default where event_day = %L returning *)
          insert into %I select * from moved', day, name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
      else
        opens := day::timestamp at time zone 'UTC';
        execute format('with moved as (delete from device_property_change_default
          where changed_at >= %L and changed_at < %L returning *) insert into %I select * from moved',
          opens, opens + interval '1 day', name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
          opens, opens + interval '1 day');
      end if;
    end loop;
    for name in
      select child.relname from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = parent::regclass and child.relname ~ ('^' || parent || '_\d{8}$')
          and to_date(right(child.relname, 8), 'YYYYMMDD') < today - retention_days
    loop
      execute format('drop table %I', name);
    end loop;
  end loop;
  delete from device_event_default where received_at < now() - make_interval(days => retention_days);
  delete from device_property_change_default where changed_at < now() - make_interval(days => retention_days);
end $$;

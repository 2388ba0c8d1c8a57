-- Deleted devices that a project refuses until the block is removed, with those of their certificates that no other device had. Name
-- and host name are copies, because the device is gone.
create table device_block (
  block_id text primary key,
  project_id text not null references project on delete cascade,
  device_id text not null,
  fingerprint_id text not null,
  fingerprint_hash bytea not null,
  name text,
  hostname text,
  actor jsonb not null,
  blocked_at timestamptz not null default now(),
  unique (project_id, fingerprint_hash)
);
create index device_block_latest on device_block (project_id, blocked_at, block_id);

create table device_block_certificate (
  block_id text not null references device_block on delete cascade,
  project_id text not null,
  fingerprint text not null,
  primary key (block_id, fingerprint)
);
create index device_block_certificate_fingerprint on device_block_certificate (project_id, fingerprint);

-- End of a certificate, which the hub sees when a device shows it; null until then. `predecessor_id` is the certificate with which the
-- device announced this one. It has no foreign key: a successor outlives its predecessor.
alter table device_certificate
  add column expires_at timestamptz,
  add column predecessor_id text;

-- Whether connected devices may announce their next certificate. Off for projects that exist already.
alter table project add column certificate_renewal boolean not null default false;

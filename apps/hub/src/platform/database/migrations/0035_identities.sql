-- Where a connection came from, and the instance of its agent where the agent reports one. Null for connections of older nodes.
-- `was_taken_over` says that a newer connection of the same device ended the connection.
alter table device_connection
  add column remote_address text,
  add column instance text,
  add column was_taken_over boolean not null default false;

-- Devices whose identity several machines use: the takeovers of the last ten minutes at the time of the last one, and the addresses.
create table device_shared_identity (
  device_id text primary key references device on delete cascade,
  takeovers integer not null,
  addresses jsonb not null,
  is_one_machine boolean not null,
  first_at timestamptz not null,
  last_at timestamptz not null
);

-- With this flag, a certificate that is active on another device of the project makes a new one Pending.
alter table deployment_token add column own_certificate boolean not null default false;

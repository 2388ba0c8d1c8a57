-- Links to the web pages of devices. A row goes with what allowed it: the session or token of the person, the person, the device.
create table proxy_token (
  token_id text primary key,
  device_id text not null references device on delete cascade,
  hostname text not null,
  port integer not null check (port between 1 and 65535),
  user_id text not null references "user" on delete cascade,
  session_id text references session on delete cascade,
  user_token_id text references user_token on delete cascade,
  redirect text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  check ((session_id is null) <> (user_token_id is null))
);
create index proxy_token_hostname on proxy_token (hostname);
create index proxy_token_device on proxy_token (device_id);
create index proxy_token_user on proxy_token (user_id);
create index proxy_token_session on proxy_token (session_id);
create index proxy_token_user_token on proxy_token (user_token_id);
create index proxy_token_expiry on proxy_token (expires_at);

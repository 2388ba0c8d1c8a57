-- User tokens may end by themselves, and say when and from where they were used last.
alter table user_token
  add column expires_at timestamptz,
  add column last_used_at timestamptz,
  add column last_used_address text;
create index user_token_expiry on user_token (expires_at) where expires_at is not null;

-- Expiry, last use and last client IP of a user token.
alter table user_token
  add column expires_at timestamptz,
  add column last_used_at timestamptz,
  add column last_used_address text;
create index user_token_expiry on user_token (expires_at) where expires_at is not null;

-- Last use of a deployment token. Devices without a row in `device` have been deleted since.
alter table deployment_token
  add column last_used_at timestamptz,
  add column last_used_device_id text,
  add column last_used_address text;

-- Time of the last request of a person, with a session or a user token.
alter table "user" add column last_seen_at timestamptz;

-- `link_id` is in the link of the invitation, and changes when the invitation is sent again at the times in `resent_at`. `expires_at` is
-- null for an invitation that does not end, and `mail_state` where nothing is known: both hold for invitations that were stored before.
alter table organization_invitation
  add column link_id text not null default gen_random_uuid()::text,
  add column expires_at timestamptz,
  add column mail_state text check (mail_state in ('Sending', 'Sent', 'NotSent')),
  add column mail_reason text,
  add column mail_queued_at timestamptz,
  add column resent_at timestamptz[] not null default '{}';
create unique index organization_invitation_link on organization_invitation (link_id);

-- The most frequent error of failed updates of a project, as the sampling job found it: the version, the error and the number of devices.
alter table project_status add column update_failure jsonb;

-- Times of the invitations that were mailed to an address, in lower case, within 24 hours. They limit the mails to one address, whichever
-- organizations send them, and stay when an invitation is withdrawn.
create table invitation_mail (
  email text primary key,
  queued_at timestamptz[] not null
);

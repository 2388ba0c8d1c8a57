-- Canonical form of the account's email address (docs/decisions.md, "Accounts"), which identifies the account. It is the address as it is
-- where an address has no canonical form, or where the form belongs to another account. Null until the job `users_FillCanonicalEmails` has
-- read the address.
alter table "user" add column canonical_email text collate "C";
create unique index user_canonical_email on "user" (canonical_email);

-- A node of an older release changes the address only. The job then reads it again.
create function forget_canonical_email() returns trigger language plpgsql as $$
begin
  if new.email is distinct from old.email and new.canonical_email is not distinct from old.canonical_email then
    new.canonical_email := null;
  end if;
  return new;
end $$;
create trigger user_email_changed before update of email on "user"
  for each row execute function forget_canonical_email();

-- Invitations are compared in lower case by ASCII rules, whatever the collation of the database is.
create index organization_invitation_by_address on organization_invitation (lower(email collate "C"));

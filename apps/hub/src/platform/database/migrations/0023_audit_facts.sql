-- Facts that the logs of the console show beside an audit row. Rows that were sealed before have none, and their seals keep form 1.
-- A seal of form 2 covers these columns too.

alter table audit_seal add column form integer not null default 1;

-- Values before the change (JSON text as `json` keeps it, because `jsonb` refuses some property values), and where the request came from.
alter table audit_event
  add column old_data json,
  add column address text,
  add column browser text;

-- Events of one action or job.
create index audit_event_action on audit_event (action_id) where action_id is not null;
create index audit_event_job on audit_event (job_id) where job_id is not null;

-- Subjects without a column of their own, such as tokens and certificates, are found by their id in the data.
create index audit_event_data on audit_event using gin (data jsonb_path_ops);

-- A failed action stands in the logs of the resource that its caller was permitted to see. These ids are set for such actions only, so
-- the indexes below hold nothing else.
alter table audit_action
  add column organization_id text,
  add column project_id text,
  add column repository_id text,
  add column device_id text,
  add column user_id text,
  add column reason text,
  add column address text,
  add column browser text;

create index audit_action_failed on audit_action (created_at desc, action_id desc)
  where status in ('Failed', 'Rejected', 'Panicked');
create index audit_action_organization on audit_action (organization_id, created_at desc) where organization_id is not null;
create index audit_action_project on audit_action (project_id, created_at desc) where project_id is not null;
create index audit_action_repository on audit_action (repository_id, created_at desc) where repository_id is not null;
create index audit_action_device on audit_action (device_id, created_at desc) where device_id is not null;
create index audit_action_user on audit_action (user_id, created_at desc) where user_id is not null;

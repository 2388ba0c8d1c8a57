-- Steps of operations, as they were sent. An operation of one device has a definition of its own; the targets of an operation of a fleet
-- will share one.
create table operation_definition (
  definition_id text primary key,
  project_id text not null references project on delete cascade,
  steps json not null,
  step_count integer not null,
  created_at timestamptz not null default now()
);
create index operation_definition_by_project on operation_definition (project_id);
create index operation_definition_by_age on operation_definition (created_at);

-- Operations of devices. There is no foreign key to the device: an operation outlives it, so that people read what became of it.
-- `step_states` has the status, the error and the times of each step. `work_kind` is set while the device has something to do, `is_awaiting`
-- while the operation waits for a property. `due_at` is the time at which the hub looks again; null while only a report or a person moves
-- the operation on. `held_at` is set by a restore: the operation does nothing until a person starts it again. `writes` names the properties
-- that its steps change, so that two operations do not change one property at the same time. `claim_session` names the connection that
-- holds the claim. `position` is a random number that names the row in a portion of work: a sequence would not survive a restore.
create table device_operation (
  operation_id text primary key,
  position bigint not null default floor(random() * 9007199254740991),
  device_id text not null,
  project_id text not null references project on delete cascade,
  definition_id text not null references operation_definition on delete cascade,
  name text not null,
  description text,
  created_by jsonb not null,
  status text not null default 'Pending',
  step_index integer not null default 0,
  step_count integer not null,
  step_states jsonb not null,
  last_error text,
  writes text[] not null default '{}',
  work_kind text,
  is_awaiting boolean not null default false,
  due_at timestamptz,
  deadline_at timestamptz,
  held_at timestamptz,
  hub_failures integer not null default 0,
  claim_id text,
  claim_session text,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default now()
);
create index device_operation_by_device on device_operation (device_id, created_at desc, operation_id desc);
create index device_operation_by_project on device_operation (project_id);
create index device_operation_open on device_operation (device_id) where completed_at is null;
create index device_operation_work on device_operation (device_id, started_at, operation_id) where work_kind is not null;
create index device_operation_awaiting on device_operation (device_id) where is_awaiting;
create index device_operation_due on device_operation (due_at) where due_at is not null;
create index device_operation_due_of_project on device_operation (project_id, due_at) where due_at is not null;
create index device_operation_by_end on device_operation (completed_at) where completed_at is not null;
create index device_operation_by_definition on device_operation (definition_id);

-- Outputs and checkpoints that devices report, apart from the rows that change often.
create table device_operation_output (
  operation_id text not null references device_operation on delete cascade,
  step_index integer not null,
  output json,
  checkpoint json,
  primary key (operation_id, step_index)
);

-- Changes of the statuses of operations and of their steps. Rows are only added, and removed when they are old.
create table device_operation_transition (
  transition_id text primary key default gen_random_uuid()::text,
  operation_id text not null references device_operation on delete cascade,
  at timestamptz not null default clock_timestamp(),
  step_index integer,
  status text not null,
  reason text
);
create index device_operation_transition_latest on device_operation_transition (operation_id, at desc);
create index device_operation_transition_by_age on device_operation_transition (at);

-- Projects whose operations are due, for the nodes that process them.
create table operation_queue (
  project_id text primary key references project on delete cascade,
  due_at timestamptz
);
create index operation_queue_due on operation_queue (due_at) where due_at is not null;

-- Cancels the operations of deleted devices, whichever release deletes them.
create function device_operations_cancelled() returns trigger language plpgsql as $$
begin
  with cancelled as (
    update device_operation o
       set status = 'Cancelled', last_error = 'The device was deleted.', completed_at = now(), updated_at = now(),
           work_kind = null, is_awaiting = false, due_at = null, deadline_at = null, held_at = null,
           claim_id = null, claim_session = null, claimed_until = null
      from gone g where o.device_id = g.device_id and o.completed_at is null
    returning o.operation_id
  )
  insert into device_operation_transition (operation_id, status, reason)
  select operation_id, 'Cancelled', 'The device was deleted.' from cancelled;
  return null;
end $$;
create trigger device_operations_left after delete on device
  referencing old table as gone for each statement execute function device_operations_cancelled();

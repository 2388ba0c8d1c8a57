-- Bulk actions that change labels and names, and undo such changes. They also run for user tokens. `change` of a bulk action says for people
-- what it changes, `change` of an item is the list of changes of its device, each with the value before and after it.
alter table bulk_action drop constraint bulk_action_kind_check;
alter table bulk_action add constraint bulk_action_kind_check
  check (kind in ('Accept', 'Reject', 'Delete', 'SetLabels', 'Rename', 'Import', 'Undo'));
alter table bulk_action
  alter column session_id drop not null,
  add column token_id text,
  add column change jsonb,
  -- Devices selected by id that the project does not have.
  add column left_out_count integer not null default 0,
  -- Rows of an import.
  add column row_count integer not null default 0,
  add column undoes text,
  add column undone_by text;
alter table bulk_action_item
  add column change jsonb,
  add column row_number integer;

-- Row of an import that changes no device. Positions of rows with and without a problem are those of the import.
create table bulk_import_problem (
  bulk_action_id text not null references bulk_action on delete cascade,
  position integer not null,
  row_number integer not null,
  key text not null,
  problem text not null,
  message text,
  primary key (bulk_action_id, position)
);

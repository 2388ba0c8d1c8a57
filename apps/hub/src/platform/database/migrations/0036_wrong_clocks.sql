-- Prepares the partition of 0039. Adding a constraint that is not validated does not read the table. The next migration validates it
-- under a lock that lets devices send.
alter table device_event_default add constraint device_event_default_days check (event_day < '10000-01-01') not valid;

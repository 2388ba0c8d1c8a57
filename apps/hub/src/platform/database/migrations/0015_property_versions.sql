-- Highest version that a removed property of this device had. New properties continue after it, so that a version that a client read
-- before a removal never matches the property that was created after it.
alter table device add column property_version_floor bigint not null default 0;

-- IP and MAC addresses of a device, from its system information, for the search of the console. They are written together with the
-- property. An IP address has its shortest form, a MAC address is 12 or 16 hexadecimal digits without separators.
create table device_address (
  device_id text not null references device on delete cascade,
  project_id text not null,
  address text collate "C" not null,
  is_mac boolean not null,
  interface text,
  primary key (device_id, address)
);
create index device_address_by_start on device_address (project_id, address);
-- Labels on devices often show only the last three bytes of a MAC address, which the manufacturer numbers.
create index device_address_by_mac_end on device_address (project_id, substr(address, 7)) where is_mac;

-- Version of the system information whose addresses are in `device_address`; null while they have not been read.
alter table device add column addresses_version bigint;

-- Beginnings of names and host names in any case. Neither connecting nor disconnecting changes an entry.
create index device_by_name_start on device (project_id, (lower(name) collate "C"));
-- With the id, other devices of the same host name are found in the order of their ids.
create index device_by_hostname_start on device (project_id, (lower(hostname) collate "C"), device_id);

-- Host names of web pages belong to a device for as long as it exists: service workers, storage and cookies of its pages stay in
-- browsers under that name, and would meet those of the next device.
create table proxy_host (
  hostname text primary key,
  device_id text not null references device on delete cascade
);
create index proxy_host_device on proxy_host (device_id);

insert into proxy_host (hostname, device_id)
  select distinct on (hostname) hostname, device_id from proxy_token order by hostname, expires_at desc;

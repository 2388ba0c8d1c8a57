-- Lists sort devices without a name by their host name, which is shown beside "unnamed".
drop index device_by_name;
create index device_by_name on device (project_id, (coalesce(name, hostname, '')), device_id);

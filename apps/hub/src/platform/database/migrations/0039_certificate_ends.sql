-- concurrent
-- For the devices whose certificates end soon. Agents make certificates until 4096; those are not part of the index.
create index concurrently if not exists device_certificate_end on device_certificate (expires_at)
  where status = 'Active' and expires_at < '2100-01-01T00:00:00Z';

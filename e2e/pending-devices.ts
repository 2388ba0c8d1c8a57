import { changeDatabase, type HubChild } from './hub-child.ts'

/**
 * Adds devices to every project whose name matches the SQL pattern `projectName`, by default to all projects. Each device has a
 * certificate that was first seen `minutesAgo` minutes ago, with the project's token and this address.
 */
export async function addPending(
  hub: Pick<HubChild, 'dataDir'>,
  name: string,
  count: number,
  address: string,
  status: 'Pending' | 'Active',
  minutesAgo: number,
  projectName = '%',
): Promise<void> {
  const key = `md5('${name} ${status} ' || i)`
  await changeDatabase(
    hub,
    `with made as (
       insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, pending_certificates, hostname, first_seen)
       select 'd_' || translate(left(${key}, 22), '0', 'z'), project_id, 'd_pk_' || translate(left(${key}, 22), '0', 'z'), decode(${key}, 'hex'),
              ${status === 'Pending' ? 1 : 0}, '${name}-gw-' || to_char(i, 'FM000'), now() - make_interval(mins => ${minutesAgo}, secs => i * 0.001)
         from project, generate_series(1, ${count}) i where project.name like '${projectName}' returning device_id, project_id, first_seen
     )
     insert into device_certificate (certificate_id, device_id, fingerprint, status, token_id, remote_address, first_seen)
     select 'd_c_' || substr(device_id, 3), device_id,
            rtrim(regexp_replace(upper(encode(sha256(device_id::bytea), 'hex')), '(..)', '\\1:', 'g'), ':'), '${status}',
            (select token_id from deployment_token t where t.project_id = made.project_id limit 1), '${address}', first_seen
       from made`,
  )
}

/** Adds four refused connections to a device, one in 3 min, as if its certificate waited for approval. */
export async function addRefusals(hub: Pick<HubChild, 'dataDir'>, hostname: string): Promise<void> {
  const ofDevice = `device_id in (select device_id from device where hostname = '${hostname}')`
  await changeDatabase(
    hub,
    `update device set last_refusal_at = now(), last_refusal_since = now() - interval '9 minutes', last_refusal_count = 4,
            last_refusal_reason = 'certificate is pending' where ${ofDevice}`,
  )
  await changeDatabase(
    hub,
    `insert into device_refusals (device_id, latest)
       select device_id, (select jsonb_agg(jsonb_build_object(
           'at', now() - i * interval '3 minutes', 'reason', 'certificate is pending', 'address', '203.0.113.77') order by i)
         from generate_series(0, 3) i)
         from device where ${ofDevice}`,
  )
}

import type pg from 'pg'
import type { Logger } from '../../platform/runtime/log.ts'
import { isDue, LastUses } from '../../platform/sessions/last-uses.ts'

const RECORD = {
  name: 'deployment-token-uses',
  text: `
    update deployment_token t set last_used_at = i.at, last_used_device_id = i.device_id, last_used_address = i.address
      from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[]) as i (token_id, at, device_id, address)
     where t.token_id = i.token_id and ${isDue('t.last_used_at')}`,
}

/** Records when, by which device and from which client IP each deployment token last authenticated a connection. */
export function deploymentTokenUses(
  pool: pg.Pool,
  log: Logger,
): LastUses<{ deviceId: string; address: string }> {
  return new LastUses({
    log,
    what: 'uses of deployment tokens',
    write: uses =>
      pool.query(RECORD, [
        uses.map(({ key }) => key),
        uses.map(({ at }) => at),
        uses.map(({ deviceId }) => deviceId),
        uses.map(({ address }) => address),
      ]),
  })
}

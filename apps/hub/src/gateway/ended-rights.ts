import type pg from 'pg'
import { runningNodes } from '../cluster/node.ts'
import type { Db } from '../database/connection.ts'
import type { Logger } from '../log.ts'
import type { DeviceRegistry } from './registry.ts'

/** How often a node looks for rights that ended at another one, in milliseconds. */
const LOOK_MS = 5_000

type Options = { db: Db; pool: pg.Pool; devices: DeviceRegistry; log: Logger }
type Right = { tokenId: string; certificateId: string }

const ENDED = {
  name: 'gateway-ended-rights',
  text: `
    select distinct i.token_id as "tokenId", i.certificate_id as "certificateId"
      from unnest($1::text[], $2::text[]) as i (token_id, certificate_id)
      left join deployment_token t on t.token_id = i.token_id
      left join device_certificate c on c.certificate_id = i.certificate_id and c.status = 'Active'
     where t.token_id is null or c.certificate_id is null`,
}

/**
 * Ends connections whose token or certificate lost its right at another node, which tells nobody (decisions: nodes poll
 * revocations). What deletes a device, a project or an organization deletes these. A node that is alone asks nothing.
 */
export function watchRights({ db, pool, devices, log }: Options): AsyncDisposable {
  const look = async (): Promise<void> => {
    const { sessions } = devices
    if (sessions.length === 0 || (await runningNodes(db)).length < 2) return
    const { rows } = await pool.query<Right>(ENDED, [
      sessions.map(({ tokenId }) => tokenId),
      sessions.map(({ certificateId }) => certificateId),
    ])
    for (const right of rows) devices.closeWhere(right, 'certificate or token is no longer valid')
  }
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    // One that takes long is not overtaken.
    looking ??= look()
      .catch(error => log.warn({ err: error }, 'rights that ended at other nodes could not be looked for'))
      .finally(() => {
        looking = undefined
      })
  }, LOOK_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}

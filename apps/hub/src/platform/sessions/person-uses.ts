import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { isDue, LastUses } from './last-uses.ts'

type Options = { db: Db; log: Logger; restMs?: number }

/** Last use of each user token: its time and client IP. */
export type TokenUses = LastUses<{ address: string | undefined }>

/** Records the last uses of user tokens. */
export function userTokenUses({ db, ...options }: Options): TokenUses {
  return new LastUses({
    ...options,
    what: 'uses of user tokens',
    write: uses =>
      sql`
        update user_token t set last_used_at = i.at, last_used_address = i.address
          from unnest(${uses.map(({ key }) => key)}::text[], ${uses.map(({ at }) => at)}::timestamptz[],
            ${uses.map(({ address }) => address ?? null)}::text[]) as i (token_id, at, address)
         where t.token_id = i.token_id and ${sql.raw(isDue('t.last_used_at'))}`.execute(db),
  })
}

/** Records the time of the last request of each person. */
export function personUses({ db, ...options }: Options): LastUses {
  return new LastUses({
    ...options,
    what: 'requests of people',
    write: uses =>
      sql`
        update "user" u set last_seen_at = i.at
          from unnest(${uses.map(({ key }) => key)}::text[], ${uses.map(({ at }) => at)}::timestamptz[]) as i (user_id, at)
         where u.user_id = i.user_id and ${sql.raw(isDue('u.last_seen_at'))}`.execute(db),
  })
}

import { isLoopback } from '@muster/actions'
import { every } from '@muster/concurrency'
import { sql } from 'kysely'
import { isLocalHost } from '../config/config.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'

/** Row of `instance_setting` with the account that has the generated password of the first start. Earlier releases wrote none. */
const SETTING = 'first-password'
const DAY_MS = 24 * 60 * 60 * 1000
/** Life of the first password of an instance that other machines reach, as of the link for a first password of other accounts. */
const LIFE_MS = 7 * DAY_MS

type FirstPasswordState = { userId: string; email: string; endsAt: Date }

/**
 * The generated password of the first administrator. It ends 7 days after the first start of an instance that other machines reach, because it
 * lies in a file and was shown on a terminal. On other instances, and those of earlier releases, it stays.
 */
export class FirstPassword {
  readonly #db: Db
  readonly #isReachable: boolean

  /** `host` is where the hub listens, `publicUrl` its address. */
  constructor(db: Db, { host, publicUrl }: { host: string; publicUrl: string }) {
    this.#db = db
    this.#isReachable = !isLocalHost(host) || !isLoopback(publicUrl)
  }

  /** The first password while it is the password of its account; undefined where it does not end. */
  async state(db: Db = this.#db): Promise<FirstPasswordState | undefined> {
    if (!this.#isReachable) return undefined
    const row = await db
      .selectFrom('instance_setting as s')
      .innerJoin('user as u', join => join.on(sql`s.value ->> 'userId'`, '=', sql.ref('u.user_id')))
      .where('s.key', '=', SETTING)
      .select(['u.user_id', 'u.email', sql<string>`s.value ->> 'madeAt'`.as('madeAt')])
      .executeTakeFirst()
    return (
      row && { userId: row.user_id, email: row.email, endsAt: new Date(Date.parse(row.madeAt) + LIFE_MS) }
    )
  }

  /** True for an account whose password is the first one, after its end. */
  async hasEnded(userId: string): Promise<boolean> {
    const state = await this.state()
    return state !== undefined && state.userId === userId && state.endsAt.getTime() <= Date.now()
  }

  /** Logs at the start of the hub, and then once a day, that the first password is in use or has ended. Disposal ends this. */
  async watch(log: Logger, intervalMs = DAY_MS): Promise<AsyncDisposable> {
    const check = async (): Promise<void> => {
      const { email, endsAt } = (await this.state()) ?? {}
      if (email === undefined || endsAt === undefined) return
      const hasEnded = endsAt.getTime() <= Date.now()
      log.warn(
        { email, endsAt },
        `the first password of this instance ${hasEnded ? 'has ended' : 'is in use and ends soon'}: muster-hub admin reset-password ${email} sets another`,
      )
    }
    const failed = (error: unknown) => log.warn({ err: error }, 'the check of the first password failed')
    await check().catch(failed)
    return every(intervalMs, check, failed)
  }
}

/** Records that an account has the generated password of the first start. */
export async function recordFirstPassword(tx: Tx, userId: string): Promise<void> {
  const value = JSON.stringify({ userId, madeAt: new Date().toISOString() })
  await sql`
    insert into instance_setting (key, value) values (${SETTING}, ${value}::jsonb)
    on conflict (key) do update set value = excluded.value`.execute(tx)
}

/** Forgets the first password when its account gets another one. */
export async function forgetFirstPassword(tx: Tx, userId: string): Promise<void> {
  await tx
    .deleteFrom('instance_setting')
    .where('key', '=', SETTING)
    .where(sql`value ->> 'userId'`, '=', userId)
    .execute()
}

import { newId, publicIdOf, UserSessionToken, UserToken } from '@muster/actions'
import { recordEvent } from '../audit/events.ts'
import { ANONYMOUS, type Caller } from '../caller.ts'
import type { Db } from '../database/connection.ts'
import { hashSecret, matchesSecret } from '../secrets.ts'

const DAY_SECS = 24 * 60 * 60
/** How long a session lasts, and with "Remember me". */
const SESSION_SECS = DAY_SECS
const REMEMBERED_SECS = 30 * DAY_SECS
/** Sessions are read from the database at each request but for this long, so that an ended one stops within seconds on every node. */
const CACHE_MS = 2_000
const CACHE_SIZE = 10_000

type Cached = { caller: Caller; until: number }

/** Sessions and user tokens: who a request speaks for. */
export class Sessions {
  readonly #db: Db
  readonly #cache = new Map<string, Cached>()

  constructor(db: Db) {
    this.#db = db
  }

  /** Opens a session and returns its secret with its life in seconds. */
  async open(
    user: { userId: string; isAdmin: boolean },
    userAgent: string,
    remember: boolean,
  ): Promise<{ token: string; maxAgeSecs: number }> {
    const token = newId('u_session_sk')
    const sessionId = publicIdOf(token)
    const maxAgeSecs = remember ? REMEMBERED_SECS : SESSION_SECS
    await this.#db.transaction().execute(async tx => {
      await tx
        .insertInto('session')
        .values({
          session_id: sessionId,
          token_hash: hashSecret(token),
          user_id: user.userId,
          user_agent: userAgent.slice(0, 512),
          expires_at: new Date(Date.now() + maxAgeSecs * 1000),
        })
        .execute()
      const caller: Caller = { actor: 'User', ...user, sessionId }
      await recordEvent(tx, { caller, scope: {} }, 'users_SessionInitiated', {
        userId: user.userId,
        sessionId,
      })
    })
    return { token, maxAgeSecs }
  }

  /** Ends the session of a secret, if it is one. */
  async end(token: string): Promise<void> {
    const caller = await this.callerOf({ cookie: token })
    if (caller.actor !== 'User') return
    await this.#db.transaction().execute(async tx => {
      const { userId, sessionId } = caller
      const { numDeletedRows } = await tx
        .deleteFrom('session')
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
      if (numDeletedRows === 0n) return
      await recordEvent(tx, { caller, scope: {} }, 'users_SessionTerminated', { userId, sessionId })
    })
    this.#cache.delete(`cookie ${token}`)
  }

  /** Who a request with these credentials is; anonymous when there are none or they are not good. */
  async callerOf({
    cookie,
    bearer,
  }: {
    cookie?: string | undefined
    bearer?: string | undefined
  }): Promise<Caller> {
    const secret = bearer ?? cookie
    if (!secret) return ANONYMOUS
    // A secret counts only where it belongs: a session's is no bearer token, a token is no cookie.
    const key = `${bearer ? 'bearer' : 'cookie'} ${secret}`
    const cached = this.#cache.get(key)
    if (cached && cached.until > Date.now()) return cached.caller
    const caller = bearer ? await this.#byUserToken(secret) : await this.#bySession(secret)
    if (this.#cache.size >= CACHE_SIZE) this.#cache.clear()
    if (caller.actor === 'Anonymous') this.#cache.delete(key)
    else this.#cache.set(key, { caller, until: Date.now() + CACHE_MS })
    return caller
  }

  async #bySession(token: string): Promise<Caller> {
    if (!UserSessionToken.safeParse(token).success) return ANONYMOUS
    const sessionId = publicIdOf(token)
    const row = await this.#db
      .selectFrom('session as s')
      .innerJoin('user as u', 'u.user_id', 's.user_id')
      .where('s.session_id', '=', sessionId)
      .where('s.expires_at', '>', new Date())
      .where('u.is_active', '=', true)
      .select(['s.token_hash', 'u.user_id', 'u.is_admin'])
      .executeTakeFirst()
    if (!row || !matchesSecret(token, row.token_hash)) return ANONYMOUS
    return { actor: 'User', userId: row.user_id, isAdmin: row.is_admin, sessionId }
  }

  async #byUserToken(token: string): Promise<Caller> {
    if (!UserToken.safeParse(token).success) return ANONYMOUS
    const tokenId = publicIdOf(token)
    const row = await this.#db
      .selectFrom('user_token as t')
      .innerJoin('user as u', 'u.user_id', 't.user_id')
      .where('t.token_id', '=', tokenId)
      .where('u.is_active', '=', true)
      .select(['t.token_hash', 'u.user_id', 'u.is_admin'])
      .executeTakeFirst()
    if (!row || !matchesSecret(token, row.token_hash)) return ANONYMOUS
    return { actor: 'UserToken', userId: row.user_id, tokenId, isAdmin: row.is_admin }
  }
}

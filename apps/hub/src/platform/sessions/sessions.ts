import { newId, publicIdOf, UserSessionToken, UserToken } from '@muster/actions'
import type { Origin } from '../audit/facts.ts'
import type { EndedRights } from '../bus/ended-rights.ts'
import { hashSecret, matchesSecret } from '../credentials/secrets.ts'
import { select } from '../database/client/connection.ts'
import type { DatabaseShares } from '../limits/database-shares.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import { ANONYMOUS, type Caller } from '../pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
  withinShare,
} from '../pipeline/command-transaction.ts'
import type { LastUses } from './last-uses.ts'
import type { TokenUses } from './person-uses.ts'

const DAY_SECS = 24 * 60 * 60
/** Lifetime of a session in seconds, without and with "Remember me". */
const SESSION_SECS = DAY_SECS
const REMEMBERED_SECS = 30 * DAY_SECS
const SESSION = `
  select s.token_hash as "tokenHash", s.created_at as "signedInAt", u.user_id as "userId", u.is_admin as "isAdmin"
    from session s join "user" u on u.user_id = s.user_id
   where s.session_id = $1 and s.expires_at > now() and u.is_active`

const USER_TOKEN = `
  select t.token_hash as "tokenHash", u.user_id as "userId", u.is_admin as "isAdmin", t.predates_shares as "predatesShares"
    from user_token t join "user" u on u.user_id = t.user_id
   where t.token_id = $1 and (t.expires_at is null or t.expires_at > now()) and u.is_active`

/** Records of the last use of each user token and of the last request of each person. */
type Uses = { tokens: TokenUses; people: LastUses }

type TokenRow = { tokenHash: Buffer; userId: string; isAdmin: boolean }
type UserTokenRow = TokenRow & { predatesShares: boolean }
type SessionRow = TokenRow & { signedInAt: Date }

/**
 * Sessions and user tokens: finds the caller of a request. The database is read for each request, so that a session that ends on
 * one node ends on all nodes.
 */
export class Sessions {
  readonly #parts: CommandParts
  readonly #shares: DatabaseShares
  readonly #limits: RateLimits
  readonly #uses: Uses
  readonly #rights: Pick<EndedRights, 'announce'>

  constructor(
    parts: CommandParts,
    shares: DatabaseShares,
    limits: RateLimits,
    uses: Uses,
    rights: Pick<EndedRights, 'announce'>,
  ) {
    this.#parts = parts
    this.#shares = shares
    this.#limits = limits
    this.#uses = uses
    this.#rights = rights
  }

  /**
   * Opens a session after the password with this hash was verified. Returns the secret and the lifetime in seconds. Returns
   * undefined if the account was disabled or its password was changed since the verification.
   */
  async open(
    user: { userId: string; isAdmin: boolean; passwordHash: string },
    userAgent: string,
    remember: boolean,
    address?: string,
  ): Promise<{ token: string; maxAgeSecs: number } | undefined> {
    const token = newId('u_session_sk')
    const sessionId = publicIdOf(token)
    const maxAgeSecs = remember ? REMEMBERED_SECS : SESSION_SECS
    const { userId, isAdmin, passwordHash } = user
    const caller: Caller = { actor: 'User', userId, isAdmin, sessionId, signedInAt: new Date() }
    const cause = { caller, scope: {}, origin: { address, browser: userAgent } }
    const open = async ({ tx, events }: CommandTransaction) => {
      // The lock makes a concurrent password change wait, so that the change ends this session too.
      const account = await tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .where('password_hash', '=', passwordHash)
        .where('is_active', '=', true)
        .select('user_id')
        .forShare()
        .executeTakeFirst()
      if (!account) return undefined
      await tx
        .insertInto('session')
        .values({
          session_id: sessionId,
          token_hash: hashSecret(token),
          user_id: userId,
          user_agent: userAgent.slice(0, 512),
          expires_at: new Date(Date.now() + maxAgeSecs * 1000),
        })
        .execute()
      await events.emit('users_SessionInitiated', { userId, sessionId })
      return { token, maxAgeSecs }
    }
    const share = this.#shares.ofPerson(userId, 'users_InitiateSession')
    return commandTransaction(open, cause, withinShare(this.#parts, share))
  }

  /** Ends the session with this secret, if there is one. */
  async end(token: string, origin?: Origin): Promise<void> {
    const caller = await this.callerOf({ cookie: token })
    if (caller.actor !== 'User') return
    const end = async ({ tx, events }: CommandTransaction): Promise<void> => {
      const { userId, sessionId } = caller
      const { numDeletedRows } = await tx
        .deleteFrom('session')
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
      if (numDeletedRows === 0n) return
      await events.emit('users_SessionTerminated', { userId, sessionId })
    }
    const share = this.#shares.ofPerson(caller.userId, 'users_TerminateSession')
    await commandTransaction(end, { caller, scope: {}, origin }, withinShare(this.#parts, share))
    this.#rights.announce({ userId: caller.userId })
  }

  /**
   * Finds the caller with these credentials. Returns the anonymous caller if there are no valid credentials. Throws `RateLimited`
   * after too many invalid tokens from the address, unless `countsBadTokens` is false. Valid tokens are never rejected.
   */
  async callerOf({
    cookie,
    bearer,
    address,
    countsBadTokens = true,
  }: {
    cookie?: string | undefined
    bearer?: string | undefined
    address?: string
    countsBadTokens?: boolean
  }): Promise<Caller> {
    // Each kind of secret has one place: a session's secret is not accepted as a bearer token, and a user token not as a cookie.
    if (!bearer) {
      const caller = cookie ? await this.#bySession(cookie) : ANONYMOUS
      if (caller.actor === 'User') this.#uses.people.add(caller.userId, {})
      return caller
    }
    const caller = await this.#byUserToken(bearer)
    if (caller.actor === 'UserToken') {
      this.#uses.tokens.add(caller.tokenId, { address })
      this.#uses.people.add(caller.userId, {})
    } else if (countsBadTokens && address !== undefined) await this.#limits.take('bad token', address)
    return caller
  }

  /**
   * Finds the person of an open session by the session's id, for work that a person started and that goes on without their requests.
   * Resolves to undefined once the session has ended or the account is disabled.
   */
  async personOfSession(sessionId: string): Promise<(Caller & { actor: 'User' }) | undefined> {
    const [row] = await select<SessionRow>(this.#parts.db, SESSION, [sessionId])
    if (!row) return undefined
    const { userId, isAdmin, signedInAt } = row
    return { actor: 'User', userId, isAdmin, sessionId, signedInAt }
  }

  /** Whether a user token is still valid, for a connection that was opened with it. Does not count as a use of the token. */
  async isTokenValid(tokenId: string): Promise<boolean> {
    const [row] = await select<TokenRow>(this.#parts.db, USER_TOKEN, [tokenId])
    return row !== undefined
  }

  async #bySession(token: string): Promise<Caller> {
    if (!UserSessionToken.safeParse(token).success) return ANONYMOUS
    const sessionId = publicIdOf(token)
    const [row] = await select<SessionRow>(this.#parts.db, SESSION, [sessionId])
    if (!row || !matchesSecret(token, row.tokenHash)) return ANONYMOUS
    const { userId, isAdmin, signedInAt } = row
    return { actor: 'User', userId, isAdmin, sessionId, signedInAt }
  }

  async #byUserToken(token: string): Promise<Caller> {
    if (!UserToken.safeParse(token).success) return ANONYMOUS
    const tokenId = publicIdOf(token)
    const [row] = await select<UserTokenRow>(this.#parts.db, USER_TOKEN, [tokenId])
    if (!row || !matchesSecret(token, row.tokenHash)) return ANONYMOUS
    const { userId, isAdmin, predatesShares } = row
    return { actor: 'UserToken', userId, tokenId, isAdmin, ...(predatesShares && { predatesShares }) }
  }
}

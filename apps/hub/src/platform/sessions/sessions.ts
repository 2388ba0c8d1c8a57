import { newId, publicIdOf, type ResourceKind, UserSessionToken, UserToken } from '@muster/actions'
import { ownersOf } from '../access/owners.ts'
import { type OwnedResource, type OwnersRow, type Resource, scopeOf } from '../access/scope.ts'
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
/** Maximum number of old sessions that one sign-in ends, so that its transaction stays short. */
const MAX_ENDED_SESSIONS = 100
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

/** Credentials of a request. `countsBadTokens` is true by default. */
type Credentials = {
  cookie?: string | undefined
  bearer?: string | undefined
  address?: string
  countsBadTokens?: boolean
}

/** Statements that find a person's credentials and the owners of a resource at once, by the statement of the credentials and the kind. */
const joinedStatements = new Map<string, Map<ResourceKind, string>>([
  [SESSION, new Map()],
  [USER_TOKEN, new Map()],
])

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
  readonly #maxSessions: number

  /** `maxSessions` is the number of sessions that a person may have. */
  constructor(
    parts: CommandParts,
    shares: DatabaseShares,
    limits: RateLimits,
    uses: Uses,
    rights: Pick<EndedRights, 'announce'>,
    maxSessions: number,
  ) {
    this.#parts = parts
    this.#shares = shares
    this.#limits = limits
    this.#uses = uses
    this.#rights = rights
    this.#maxSessions = maxSessions
  }

  /**
   * Opens a session after the password with this hash was verified. Ends the oldest sessions of the person beyond the limit, so that nobody is
   * locked out by forgotten ones. Returns the secret and the lifetime in seconds. Returns undefined if the account was disabled or its
   * password was changed since the verification.
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
    const open = async ({ tx, events, afterCommit }: CommandTransaction) => {
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
      const oldest = await tx
        .selectFrom('session')
        .where('user_id', '=', userId)
        .where('session_id', '<>', sessionId)
        .orderBy('created_at', 'desc')
        .orderBy('session_id')
        .offset(this.#maxSessions - 1)
        .limit(MAX_ENDED_SESSIONS)
        .select('session_id')
        .execute()
      if (oldest.length > 0) {
        const ids = oldest.map(({ session_id }) => session_id)
        const ended = await tx
          .deleteFrom('session')
          .where('session_id', 'in', ids)
          .returning('session_id')
          .execute()
        await events.emitEach(
          'users_SessionTerminated',
          ended.map(({ session_id }) => ({ data: { userId, sessionId: session_id } })),
        )
        afterCommit(() => this.#rights.announce({ userId }))
      }
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
  async callerOf(credentials: Credentials): Promise<Caller> {
    return (await this.callerFor(credentials, undefined)).caller
  }

  /**
   * Like `callerOf`. For a person, also finds the owners of the resource that the request names, in the same statement. That saves a sixth
   * of the processor time of a short query. `owned` is absent for other callers, and for resources without such a statement.
   */
  async callerFor(
    { cookie, bearer, address, countsBadTokens = true }: Credentials,
    resource: Resource | undefined,
  ): Promise<{ caller: Caller; owned?: OwnedResource | undefined }> {
    // Each kind of secret has one place: a session's secret is not accepted as a bearer token, and a user token not as a cookie.
    if (!bearer) {
      const found = cookie ? await this.#bySession(cookie, resource) : { caller: ANONYMOUS }
      if (found.caller.actor === 'User') this.#uses.people.add(found.caller.userId, {})
      return found
    }
    const found = await this.#byUserToken(bearer, resource)
    const { caller } = found
    if (caller.actor === 'UserToken') {
      this.#uses.tokens.add(caller.tokenId, { address })
      this.#uses.people.add(caller.userId, {})
    } else if (countsBadTokens && address !== undefined) await this.#limits.take('bad token', address)
    return found
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

  /** Finds the person of a valid user token by the token's id, like `personOfSession`. Does not count as a use of the token. */
  async personOfToken(tokenId: string): Promise<(Caller & { actor: 'UserToken' }) | undefined> {
    const [row] = await select<UserTokenRow>(this.#parts.db, USER_TOKEN, [tokenId])
    if (!row) return undefined
    return callerWithToken(tokenId, row)
  }

  /** Whether a user token is still valid, for a connection that was opened with it. Does not count as a use of the token. */
  async isTokenValid(tokenId: string): Promise<boolean> {
    const [row] = await select<TokenRow>(this.#parts.db, USER_TOKEN, [tokenId])
    return row !== undefined
  }

  async #bySession(token: string, resource: Resource | undefined) {
    if (!UserSessionToken.safeParse(token).success) return { caller: ANONYMOUS }
    const sessionId = publicIdOf(token)
    const { row, owned } = await this.#find<SessionRow>(SESSION, sessionId, resource)
    if (!row || !matchesSecret(token, row.tokenHash)) return { caller: ANONYMOUS }
    const { userId, isAdmin, signedInAt } = row
    const caller: Caller = { actor: 'User', userId, isAdmin, sessionId, signedInAt }
    return { caller, owned }
  }

  async #byUserToken(token: string, resource: Resource | undefined) {
    if (!UserToken.safeParse(token).success) return { caller: ANONYMOUS }
    const tokenId = publicIdOf(token)
    const { row, owned } = await this.#find<UserTokenRow>(USER_TOKEN, tokenId, resource)
    if (!row || !matchesSecret(token, row.tokenHash)) return { caller: ANONYMOUS }
    return { caller: callerWithToken(tokenId, row), owned }
  }

  /** Finds credentials by their id, and the owners of a resource for the person to whom they belong. */
  async #find<Row extends TokenRow>(
    statement: string,
    id: string,
    resource: Resource | undefined,
  ): Promise<{ row: Row | undefined; owned?: OwnedResource }> {
    const { db } = this.#parts
    const joined = resource && joinedStatement(statement, resource.kind)
    if (!joined) return { row: (await select<Row>(db, statement, [id]))[0] }
    type Joined = Row & OwnersRow & { isInstanceAdmin: boolean }
    const [found] = await select<Joined>(db, joined, [id, resource.id])
    if (!found) return { row: undefined }
    const isAbsent = found.organizationId === null
    return {
      row: { ...found, isAdmin: found.isInstanceAdmin },
      owned: { ...resource, scope: isAbsent ? undefined : scopeOf(found) },
    }
  }
}

/** Statement for credentials ($1) and the owners of a resource ($2); undefined for a kind whose owners cannot be joined. */
function joinedStatement(credentials: string, kind: ResourceKind): string | undefined {
  const known = joinedStatements.get(credentials)!
  const { statement } = ownersOf(kind)
  if (!statement || known.has(kind)) return known.get(kind)
  const text = `
    select found.*, found."isAdmin" as "isInstanceAdmin", owners.*
      from (${credentials}) found left join lateral (${statement('$2', 'found."userId"')}) owners on true`
  known.set(kind, text)
  return text
}

function callerWithToken(
  tokenId: string,
  { userId, isAdmin, predatesShares }: UserTokenRow,
): Caller & { actor: 'UserToken' } {
  return { actor: 'UserToken', userId, tokenId, isAdmin, ...(predatesShares && { predatesShares }) }
}

import { randomUUID } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { type Db, select, type Tx } from '../database/connection.ts'
import type { Jwts } from '../jwts.ts'
import type { ProxyHosts } from './hosts.ts'

/** What a token opens, and for how long still. */
type ProxyAccess = { deviceId: string; port: number; lastsSecs: number }

type NewToken = {
  deviceId: string
  hostname: string
  port: number
  userId: string
  /** What the token ends with: the session or the user token that asked for it. */
  sessionId: string | undefined
  userTokenId: string | undefined
  redirect: string | undefined
  validForSecs: number
}

type AccessRow = { device_id: string; port: number; expires_at: Date }

/** JWTs that are not verified anew at each request; a page asks for dozens of things at once. */
const MAX_VERIFIED = 1_000

/** Host names that may be chosen for a device. */
const MAX_HOSTS = 16

/** What a token opens under a host name; a session that is over stays a while until it is swept. */
const ACCESS = `
  select t.device_id, t.port, t.expires_at
    from proxy_token t
    join device d using (device_id)
    join project p using (project_id)
    join organization_member m on m.organization_id = p.organization_id and m.user_id = t.user_id
    join "user" u on u.user_id = t.user_id
    left join session s on s.session_id = t.session_id
   where t.token_id = $1 and t.hostname = $2 and t.expires_at > $3
     and u.is_active and (t.session_id is null or s.expires_at > $3)`

/**
 * Tokens that open a device's page in a browser. Each has a row that goes with its session, its user token and its device, and it
 * is read at each request together with the person's membership, so that a token never outlives a right (decisions, "Devices").
 */
export class ProxyTokens {
  readonly #db: Db
  readonly #jwts: Jwts
  /** Rows of JWTs that were found good before, oldest first: a signature stays good, whatever becomes of its row. */
  readonly #verified = new Map<string, string>()

  constructor(db: Db, jwts: Jwts) {
    this.#db = db
    this.#jwts = jwts
  }

  /** Issues a token in a transaction; resolves to its JWT. */
  async issue(tx: Tx, token: NewToken): Promise<string> {
    const tokenId = randomUUID()
    const expiresAt = new Date(Date.now() + token.validForSecs * 1000)
    await tx
      .insertInto('proxy_token')
      .values({
        token_id: tokenId,
        device_id: token.deviceId,
        hostname: token.hostname,
        port: token.port,
        user_id: token.userId,
        session_id: token.sessionId ?? null,
        user_token_id: token.userTokenId ?? null,
        redirect: token.redirect ?? null,
        expires_at: expiresAt,
      })
      .execute()
    return this.#jwts.signProxy(tokenId, expiresAt)
  }

  /**
   * Gives a device a host name that was chosen for it, for as long as it exists: what its pages leave in browsers is no other device's.
   * Throws `Invalid` for one that is another's or that nobody may choose, and for more than a device may have.
   */
  async claimHost(tx: Tx, hosts: ProxyHosts, hostname: string, deviceId: string): Promise<void> {
    if (!hosts.mayBeChosen(hostname))
      throw new ActionError('Invalid', `hostname: expected one name below ${hosts.domain}.`)
    const made = await tx
      .insertInto('proxy_host')
      .values({ hostname, device_id: deviceId })
      .onConflict(conflict => conflict.column('hostname').doNothing())
      .returning('device_id')
      .executeTakeFirst()
    if (!made) {
      const owner = await tx
        .selectFrom('proxy_host')
        .where('hostname', '=', hostname)
        .select('device_id')
        .executeTakeFirst()
      if (owner?.device_id !== deviceId)
        throw new ActionError('Invalid', 'hostname: another device has this name.')
      // A device may have more names, from before there was a limit.
      return
    }
    const { count } = await tx
      .selectFrom('proxy_host')
      .where('device_id', '=', deviceId)
      .select(sql<number>`count(*)`.as('count'))
      .executeTakeFirstOrThrow()
    if (count > MAX_HOSTS)
      throw new ActionError(
        'Invalid',
        `hostname: this device has ${MAX_HOSTS} names already, expected one of them.`,
      )
  }

  /** What a token opens under a host name now, or nothing. */
  async check(jwt: string, hostname: string): Promise<ProxyAccess | undefined> {
    const tokenId = this.#verified.get(jwt) ?? (await this.#verify(jwt))
    if (tokenId === undefined) return undefined
    const now = Date.now()
    const [row] = await select<AccessRow>(this.#db, ACCESS, [tokenId, hostname, new Date(now)])
    return (
      row && {
        deviceId: row.device_id,
        port: row.port,
        lastsSecs: Math.floor((row.expires_at.getTime() - now) / 1000),
      }
    )
  }

  /** Where a browser with an expired token of ours should go, if its issuer said so. */
  async redirectOfExpired(jwt: string): Promise<string | undefined> {
    const tokenId = await this.#verify(jwt)
    if (tokenId === undefined) return undefined
    const row = await this.#db
      .selectFrom('proxy_token')
      .where('token_id', '=', tokenId)
      .where('expires_at', '<=', new Date())
      .select('redirect')
      .executeTakeFirst()
    return row?.redirect ?? undefined
  }

  /** Whether some device has this host name, so that a better link may help. */
  async isKnownHost(hostname: string): Promise<boolean> {
    const row = await this.#db
      .selectFrom('proxy_token')
      .where('hostname', '=', hostname)
      .select('token_id')
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  }

  async #verify(jwt: string): Promise<string | undefined> {
    const tokenId = await this.#jwts.verifyProxy(jwt)
    if (tokenId === undefined) return undefined
    this.#verified.set(jwt, tokenId)
    if (this.#verified.size > MAX_VERIFIED) this.#verified.delete(this.#verified.keys().next().value!)
    return tokenId
  }
}

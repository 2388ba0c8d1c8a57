import { randomUUID } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { rightsOf } from '../../platform/access/rights.ts'
import type { Jwts } from '../../platform/credentials/jwts.ts'
import { type Db, select, type Tx } from '../../platform/database/client/connection.ts'
import { daysAgo, type JobContext } from '../../platform/jobs/define-job.ts'
import { CONNECT, type PersonRight } from '../channels/device-channel.ts'
import type { ProxyHosts } from './hosts.ts'

/** Protocol that a device's web server speaks on its port. */
export type Protocol = 'http' | 'https'

/**
 * Right that a token gives its person: the device and port that it opens, the place of the device, and the remaining lifetime. `key` is the id
 * of the token.
 */
export type ProxyAccess = PersonRight & {
  port: number
  protocol: Protocol
  projectId: string
  organizationId: string
  lastsSecs: number
}

type NewToken = {
  deviceId: string
  hostname: string
  port: number
  protocol: Protocol
  userId: string
  /** Session or user token of the person who requested this proxy token. The proxy token ends with it. */
  sessionId: string | undefined
  userTokenId: string | undefined
  redirect: string | undefined
  validForSecs: number
}

type AccessRow = {
  device_id: string
  port: number
  user_id: string
  project_id: string
  organization_id: string
  expires_at: Date
  is_admin: boolean
}

/** Parts of a JWT with a verified signature. */
type Verified = { tokenId: string; isHttps: boolean }

/** Limit of cached JWTs with a verified signature. A browser sends the same JWT with dozens of concurrent requests of a page. */
const MAX_VERIFIED = 1_000

/** Limit of chosen host names per device. */
const MAX_HOSTS = 16

/**
 * Days for which an expired token is kept. An expired link to a device's page still redirects the browser to the URL that the link's
 * issuer chose.
 */
const KEEP_EXPIRED_DAYS = 7

/** Removes tokens that expired long ago. */
export async function removeOldProxyTokens({ db }: JobContext): Promise<void> {
  await db.deleteFrom('proxy_token').where('expires_at', '<', daysAgo(KEEP_EXPIRED_DAYS)).execute()
}

/**
 * Selects the row of a token if the person who requested it is still a member, with the role of that person. Sessions and user tokens are deleted some time after they
 * expire, so the query checks their expiry.
 */
const ACCESS = `
  select t.device_id, t.port, t.user_id, t.expires_at, p.project_id, p.organization_id, m.is_admin
    from proxy_token t
    join device d using (device_id)
    join project p using (project_id)
    join organization_member m on m.organization_id = p.organization_id and m.user_id = t.user_id
    join "user" u on u.user_id = t.user_id
    left join session s on s.session_id = t.session_id
    left join user_token ut on ut.token_id = t.user_token_id
   where t.token_id = $1 and t.hostname = $2 and t.expires_at > $3
     and u.is_active and (t.session_id is null or s.expires_at > $3)
     and (ut.expires_at is null or ut.expires_at > $3)`

/**
 * Tokens that open a device's page in a browser. The row of a token is deleted with its session, user token or device. Each request reads
 * the row and the person's role, so that a token never outlives a right (docs/decisions.md, "HTTP proxy").
 */
export class ProxyTokens {
  readonly #db: Db
  readonly #jwts: Jwts
  /** JWTs with a verified signature, oldest first. A deleted row is noticed, because each request reads the row. */
  readonly #verified = new Map<string, Verified>()

  constructor(db: Db, jwts: Jwts) {
    this.#db = db
    this.#jwts = jwts
  }

  /** Issues a token inside a transaction; resolves to its JWT. */
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
    return this.#jwts.signProxy(tokenId, token.protocol === 'https', expiresAt)
  }

  /**
   * Reserves a chosen host name for a device for as long as the device exists, because browsers keep cookies and storage of its pages under
   * that name. Throws `Invalid` for a name of another device, for a name that may not be chosen, and beyond `MAX_HOSTS`.
   */
  async claimHost(tx: Tx, hosts: ProxyHosts, hostname: string, deviceId: string): Promise<void> {
    if (!hosts.mayBeChosen(hostname))
      throw new ActionError('Invalid', `hostname: expected one name below ${hosts.domain}.`, { status: 409 })
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
      // The device already has this name, so its number of names does not change. The limit is not checked, because the device may have
      // got more names before the limit existed.
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

  /** The access that a token grants under a host name; undefined if it grants none. */
  async check(jwt: string, hostname: string): Promise<ProxyAccess | undefined> {
    const verified = this.#verified.get(jwt) ?? (await this.#verify(jwt))
    if (verified === undefined) return undefined
    const { tokenId, isHttps } = verified
    const now = Date.now()
    const [row] = await select<AccessRow>(this.#db, ACCESS, [tokenId, hostname, new Date(now)])
    if (!row || !rightsOf(row.is_admin)?.has(CONNECT)) return undefined
    return {
      deviceId: row.device_id,
      port: row.port,
      protocol: isHttps ? 'https' : 'http',
      projectId: row.project_id,
      organizationId: row.organization_id,
      userId: row.user_id,
      key: tokenId,
      lastsSecs: Math.floor((row.expires_at.getTime() - now) / 1000),
    }
  }

  /** The redirect URL of an expired token, if its issuer set one. */
  async redirectOfExpired(jwt: string): Promise<string | undefined> {
    const verified = await this.#verify(jwt)
    if (verified === undefined) return undefined
    const [row] = await select<{ redirect: string | null }>(
      this.#db,
      'select redirect from proxy_token where token_id = $1 and expires_at <= now()',
      [verified.tokenId],
    )
    return row?.redirect ?? undefined
  }

  /** Resolves to the given IP addresses that a device has reported as its own. All are in their shortest form. */
  async addressesOf(deviceId: string, addresses: string[]): Promise<Set<string>> {
    const rows = await select<{ address: string }>(
      this.#db,
      'select address from device_address where device_id = $1 and address = any($2) and not is_mac',
      [deviceId, addresses],
    )
    return new Set(rows.map(({ address }) => address))
  }

  /** True if any token, even an expired one, has this host name. If so, a new link to the device may help. */
  async isKnownHost(hostname: string): Promise<boolean> {
    const rows = await select(this.#db, 'select from proxy_token where hostname = $1 limit 1', [hostname])
    return rows.length > 0
  }

  async #verify(jwt: string): Promise<Verified | undefined> {
    const verified = await this.#jwts.verifyProxy(jwt)
    if (verified === undefined) return undefined
    this.#verified.set(jwt, verified)
    if (this.#verified.size > MAX_VERIFIED) this.#verified.delete(this.#verified.keys().next().value!)
    return verified
  }
}

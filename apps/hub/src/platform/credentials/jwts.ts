import { memberText, RawJson, stringify } from '@muster/actions/exact-json'
import { CompactSign, type JWTPayload, jwtVerify } from 'jose'
import type { InstanceKey } from './instance-key.ts'

/** Purpose of a mailed link. */
export type MailPurpose = 'Activation' | 'PasswordReset' | 'EmailChange'
/** Purpose of a person's JWT: a mailed link, or the cookie of a browser from which the account has signed in. */
type PersonPurpose = MailPurpose | 'KnownBrowser'
/** Purpose of any JWT. A `Device` JWT identifies a device to other systems. A `Proxy` JWT opens the web pages of a device. */
type Purpose = PersonPurpose | 'Device' | 'Proxy'

/** Ids of a JWT and of its person. The row of a mailed JWT in the database is found by `jwtId`. */
export type PersonClaims = { jwtId: string; userId: string }
/**
 * Claims of a JWT that identifies a device. `certificateId` is set if the device itself requested the JWT, over a connection with that
 * certificate.
 */
type DeviceClaims = { deviceId: string; certificateId?: string | undefined; claims: RawJson }

/**
 * Signs and verifies the hub's own JWTs. Each purpose has its own key, `typ` and audience. The algorithm is fixed, and the header of a
 * JWT cannot select the key. The row in `mailed_token` ensures that a mailed JWT works only once.
 */
export class Jwts {
  readonly #key: InstanceKey

  constructor(key: InstanceKey) {
    this.#key = key
  }

  sign(purpose: PersonPurpose, { jwtId, userId }: PersonClaims, expiresAt: Date): Promise<string> {
    return this.#sign(purpose, { sub: userId, jti: jwtId }, expiresAt)
  }

  /** Returns the claims of a valid JWT of the given purpose, else undefined. */
  async verify(purpose: PersonPurpose, jwt: string): Promise<PersonClaims | undefined> {
    const payload = await this.#verify(purpose, jwt, ['sub', 'jti'])
    return payload && { jwtId: payload.jti!, userId: payload.sub! }
  }

  /**
   * Signs a JWT that identifies a device. `claims` are the custom claims from the request for the JWT. They are nested in the claim
   * `claims`, so that they cannot pass for claims of the hub.
   */
  signDevice({ deviceId, certificateId, claims }: DeviceClaims, expiresAt: Date): Promise<string> {
    const certificate = certificateId === undefined ? {} : { certificateId }
    return this.#sign('Device', { sub: deviceId, ...certificate, claims }, expiresAt)
  }

  /**
   * Returns the device, the certificate and the exact text of the custom claims, or undefined for an invalid JWT. Does not check that
   * device and certificate still exist.
   */
  async verifyDevice(jwt: string): Promise<DeviceClaims | undefined> {
    const payload = await this.#verify('Device', jwt, ['sub', 'claims'])
    if (!payload) return undefined
    const text = Buffer.from(jwt.split('.')[1]!, 'base64url').toString()
    const { sub, certificateId } = payload
    return {
      deviceId: sub!,
      certificateId: typeof certificateId === 'string' ? certificateId : undefined,
      claims: new RawJson(memberText(text, 'claims')!),
    }
  }

  /**
   * Signs a JWT that opens the web pages of a device. The row of `proxy_token` holds the device, the port and the person. `isHttps` is true if
   * the device's service speaks HTTPS.
   */
  signProxy(tokenId: string, isHttps: boolean, expiresAt: Date): Promise<string> {
    return this.#sign('Proxy', { jti: tokenId, ...(isHttps && { https: true }) }, expiresAt)
  }

  /** Returns what a JWT of `signProxy` holds. Undefined for an invalid JWT. The caller reads the expiry from the row of the token. */
  async verifyProxy(jwt: string): Promise<{ tokenId: string; isHttps: boolean } | undefined> {
    const payload = await this.#verify('Proxy', jwt, ['jti'], new Date(0))
    return payload && { tokenId: payload.jti!, isHttps: payload.https === true }
  }

  #sign(purpose: Purpose, claims: object, expiresAt: Date): Promise<string> {
    const exp = Math.floor(expiresAt.getTime() / 1000)
    // `SignJWT` would serialize the custom claims of a device's JWT again and could change their text.
    return new CompactSign(Buffer.from(stringify({ ...claims, aud: audienceOf(purpose), exp })))
      .setProtectedHeader({ alg: 'HS256', typ: typeOf(purpose) })
      .sign(this.#key(`jwt ${purpose}`))
  }

  async #verify(
    purpose: Purpose,
    jwt: string,
    claims: string[],
    currentDate = new Date(),
  ): Promise<JWTPayload | undefined> {
    try {
      const { payload } = await jwtVerify(jwt, this.#key(`jwt ${purpose}`), {
        algorithms: ['HS256'],
        typ: typeOf(purpose),
        audience: audienceOf(purpose),
        requiredClaims: [...claims, 'exp'],
        currentDate,
      })
      return payload
    } catch {
      return undefined
    }
  }
}

const typeOf = (purpose: Purpose): string => `muster-${purpose.toLowerCase()}+jwt`
const audienceOf = (purpose: Purpose): string => `muster:${purpose.toLowerCase()}`

import { memberText, RawJson, stringify } from '@muster/actions/exact-json'
import { CompactSign, type JWTPayload, jwtVerify } from 'jose'
import type { InstanceKey } from './instance-key.ts'

/** What a mailed link is for. */
export type MailPurpose = 'Activation' | 'PasswordReset'
/** What a JWT of a person is for: a mailed link, or the cookie of a browser from which their account has signed in. */
type PersonPurpose = MailPurpose | 'KnownBrowser'
/** The others name a device to other systems (catalogue 3.7), or open a device's web pages. */
type Purpose = PersonPurpose | 'Device' | 'Proxy'

/** Whom a JWT is for, and the id of its row. */
export type PersonClaims = { jwtId: string; userId: string }
/** `certificateId` is the certificate of the device that issued the JWT itself; a person's JWTs for a device have none. */
type DeviceClaims = { deviceId: string; certificateId?: string | undefined; claims: RawJson }

/**
 * The hub's own JWTs. Each purpose has a key, a `typ` and an audience of its own; there is one algorithm, and nothing in a token
 * chooses the key that it is checked with. That a mailed one is used once is for its row in `mailed_token`.
 */
export class Jwts {
  readonly #key: InstanceKey

  constructor(key: InstanceKey) {
    this.#key = key
  }

  sign(purpose: PersonPurpose, { jwtId, userId }: PersonClaims, expiresAt: Date): Promise<string> {
    return this.#sign(purpose, { sub: userId, jti: jwtId }, expiresAt)
  }

  /** The claims of a JWT of that purpose, or nothing for whatever is no such thing or expired. */
  async verify(purpose: PersonPurpose, jwt: string): Promise<PersonClaims | undefined> {
    const payload = await this.#verify(purpose, jwt, ['sub', 'jti'])
    return payload && { jwtId: payload.jti!, userId: payload.sub! }
  }

  /** A JWT that names a device; what the caller claims is nested, so that it cannot pass for a claim of the hub. */
  signDevice({ deviceId, certificateId, claims }: DeviceClaims, expiresAt: Date): Promise<string> {
    const certificate = certificateId === undefined ? {} : { certificateId }
    return this.#sign('Device', { sub: deviceId, ...certificate, claims }, expiresAt)
  }

  /** Device, certificate and claims as they were written; undefined for an invalid JWT. Does not check that they still exist. */
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

  /** A JWT that opens a device's web pages; all that it means is in its row. */
  signProxy(tokenId: string, expiresAt: Date): Promise<string> {
    return this.#sign('Proxy', { jti: tokenId }, expiresAt)
  }

  /** The id of the row that such a JWT stands for, expired or not, or nothing. */
  async verifyProxy(jwt: string): Promise<string | undefined> {
    return (await this.#verify('Proxy', jwt, ['jti'], new Date(0)))?.jti
  }

  #sign(purpose: Purpose, claims: object, expiresAt: Date): Promise<string> {
    const exp = Math.floor(expiresAt.getTime() / 1000)
    // Not `SignJWT`, which would write the claims of others anew.
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

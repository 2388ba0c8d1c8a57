import { jwtVerify, SignJWT } from 'jose'
import type { InstanceKey } from './instance-key.ts'

/** What a mailed link is for. */
export type MailPurpose = 'Activation' | 'PasswordReset'
/** What a JWT is for: a mailed link, or the cookie of a browser from which its account has signed in. */
type Purpose = MailPurpose | 'KnownBrowser'

type Claims = { jwtId: string; userId: string }

/**
 * The hub's own JWTs. Each purpose has a key, a `typ` and an audience of its own; there is one algorithm, and nothing in a token
 * chooses the key that it is checked with. That a mailed one is used once is for its row in `mailed_token`.
 */
export class Jwts {
  readonly #key: InstanceKey

  constructor(key: InstanceKey) {
    this.#key = key
  }

  sign(purpose: Purpose, { jwtId, userId }: Claims, expiresAt: Date): Promise<string> {
    return new SignJWT()
      .setProtectedHeader({ alg: 'HS256', typ: typeOf(purpose) })
      .setAudience(audienceOf(purpose))
      .setSubject(userId)
      .setJti(jwtId)
      .setExpirationTime(expiresAt)
      .sign(this.#key(`jwt ${purpose}`))
  }

  /** The claims of a JWT of that purpose, or nothing for whatever is no such thing or expired. */
  async verify(purpose: Purpose, jwt: string): Promise<Claims | undefined> {
    try {
      const { payload } = await jwtVerify(jwt, this.#key(`jwt ${purpose}`), {
        algorithms: ['HS256'],
        typ: typeOf(purpose),
        audience: audienceOf(purpose),
        requiredClaims: ['sub', 'jti', 'exp'],
      })
      return { jwtId: payload.jti!, userId: payload.sub! }
    } catch {
      return undefined
    }
  }
}

const typeOf = (purpose: Purpose): string => `muster-${purpose.toLowerCase()}+jwt`
const audienceOf = (purpose: Purpose): string => `muster:${purpose.toLowerCase()}`

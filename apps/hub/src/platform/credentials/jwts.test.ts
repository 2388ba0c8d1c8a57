import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { RawJson } from '@muster/actions/exact-json'
import { deviceRow, mailedJwt, randomFingerprint, type TestHub, testHub } from '@muster/testkit'
import { exportJWK, exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANONYMOUS, SYSTEM } from '../pipeline/caller.ts'
import { type InstanceKey, loadInstanceKey } from './instance-key.ts'

const INSTANCE_KEY = 'c0ffee'.repeat(11).slice(0, 64)
const PASSWORD = 'a staple of horses'
const AN_HOUR = '1h'

let hub: TestHub
let key: InstanceKey

beforeAll(async () => {
  hub = await testHub({ instanceKey: INSTANCE_KEY })
  key = await loadInstanceKey('/nowhere', INSTANCE_KEY)
})
afterAll(() => hub[Symbol.asyncDispose]())

type Link = {
  purpose: 'Activation' | 'PasswordReset' | 'Device'
  jwt: string
  jwtId: string
  /** Claim `sub` of the JWT: the id of the account for a mailed link, or else the id of the device. */
  subject: string
  claims?: object
  typ: string
  audience: string
  key: Buffer
}

/** Functions that make an invalid JWT from a valid one, by their description in test titles. */
const FORGERIES: Record<string, (link: Link) => string | Promise<string>> = {
  'is empty': () => '',
  'is no JWT': () => 'activate me',
  'is only dots': () => '..',
  'is very long': () => 'x'.repeat(4096),
  'is JSON': ({ jwtId, subject }) => JSON.stringify({ jti: jwtId, sub: subject }),
  'lost its signature': ({ jwt }) => jwt.slice(0, jwt.lastIndexOf('.') + 1),
  'lost the end of its signature': ({ jwt }) => jwt.slice(0, -4),
  'has another signature': ({ jwt }) => `${jwt.slice(0, jwt.lastIndexOf('.') + 1)}${'A'.repeat(43)}`,
  'has other claims under the same signature': ({ jwt, jwtId }) =>
    jwt.replace(/\.[^.]+\./, `.${encoded({ jti: jwtId, sub: 'u_1' })}.`),
  'has blanks around it': ({ jwt }) => ` ${jwt} `,
  'says alg none': link =>
    new UnsecuredJWT()
      .setJti(link.jwtId)
      .setSubject(link.subject)
      .setAudience(link.audience)
      .setExpirationTime(AN_HOUR)
      .encode(),
  ...Object.fromEntries(
    ['none', 'None', 'NONE', 'nOnE', ''].map(alg => [
      `says alg "${alg}" with everything else valid`,
      ({ jwt, typ }: Link) => `${encoded({ alg, typ })}.${jwt.split('.')[1]}.`,
    ]),
  ),
  'is signed with another key': link => signed(link).sign(randomBytes(32)),
  'is signed with an empty key': link => signed(link).sign(Buffer.alloc(32)),
  'is signed with the key of the instance itself': link =>
    signed(link).sign(Buffer.from(INSTANCE_KEY, 'hex')),
  'is signed with HS384': link => signed(link, { alg: 'HS384' }).sign(key(`jwt ${link.purpose}`)),
  'is signed with HS512': link => signed(link, { alg: 'HS512' }).sign(key(`jwt ${link.purpose}`)),
  'is signed with a key pair from its own header': async link => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    return signed(link, { alg: 'RS256', jwk: await exportJWK(publicKey) }).sign(privateKey)
  },
  'is signed with the text of a public key': async link => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    return signed(link).sign(Buffer.from(await exportSPKI(publicKey)))
  },
  'names a file as its key': link => signed(link, { kid: '../../../../dev/null' }).sign(Buffer.alloc(32)),
  'names SQL as its key': link => signed(link, { kid: "' union select '" }).sign(Buffer.from('x')),
  'names URLs of keys': link =>
    signed(link, { jku: 'https://evil.example/keys', x5u: 'https://evil.example/x' }).sign(randomBytes(32)),
  'is of another type': link => signed(link, { typ: 'JWT' }).sign(link.key),
  'is of no type': link => signed(link, { typ: undefined }).sign(link.key),
  'has an unknown critical header': ({ jwt, typ, key }) => {
    const signed = `${encoded({ alg: 'HS256', typ, crit: ['new'], new: 1 })}.${jwt.split('.')[1]}`
    return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
  },
  'is for another audience': link => signed({ ...link, audience: 'muster:devices' }).sign(link.key),
  'is for no audience': link => unaddressed(link).setExpirationTime(AN_HOUR).sign(link.key),
  'has expired': link =>
    signed(link)
      .setExpirationTime(new Date(Date.now() - 1000))
      .sign(link.key),
  'never expires': link => unaddressed(link).setAudience(link.audience).sign(link.key),
  'is not valid yet': link => signed(link).setNotBefore(AN_HOUR).sign(link.key),
  'has no id': link => signed({ ...link, jwtId: undefined as never }).sign(link.key),
  'has the id of another': link => signed({ ...link, jwtId: crypto.randomUUID() }).sign(link.key),
  'has no subject': link => signed({ ...link, subject: undefined as never }).sign(link.key),
  'is of another subject': link =>
    signed({ ...link, subject: `${link.subject.split('_')[0]}_1111111111111111111111` }).sign(link.key),
  'is for a known browser': ({ jwtId, subject }) =>
    hub.jwts.sign('KnownBrowser', { jwtId, userId: subject }, new Date(Date.now() + 60_000)),
  'is for another kind of mail': ({ purpose, jwtId, subject }) =>
    hub.jwts.sign(
      purpose === 'Activation' ? 'PasswordReset' : 'Activation',
      { jwtId, userId: subject },
      new Date(Date.now() + 60_000),
    ),
}

describe.each(['Activation', 'PasswordReset'] as const)('a mailed JWT for %s', purpose => {
  let link: Link

  const email = `${purpose}@example.test`
  const redeem = async (jwt: string): Promise<string> => {
    try {
      const output =
        purpose === 'Activation'
          ? await hub.pipeline.run(ANONYMOUS, 'users_CompleteRegistration', { activationToken: jwt })
          : await hub.pipeline.run(ANONYMOUS, 'users_CompletePasswordReset', {
              resetToken: jwt,
              password: PASSWORD,
            })
      return output.result
    } catch (error) {
      if (error instanceof ActionError) return `${error.kind}: ${error.message}`
      throw error
    }
  }

  beforeAll(async () => {
    if (purpose === 'Activation') {
      await hub.pipeline.run(ANONYMOUS, 'users_Register', {
        email,
        password: PASSWORD,
        consentedToTerms: true,
      })
    } else {
      const admin = await hub.user({ isAdmin: true })
      await admin.invoke('users_Create', { email })
    }
    const row = await hub.db
      .selectFrom('mailed_token')
      .where('purpose', '=', purpose)
      .selectAll()
      .executeTakeFirstOrThrow()
    const kind = purpose.toLowerCase()
    link = {
      purpose,
      jwt: await mailedJwt(hub, purpose, email),
      jwtId: row.jwt_id,
      subject: row.user_id,
      typ: `muster-${kind}+jwt`,
      audience: `muster:${kind}`,
      key: key(`jwt ${purpose}`),
    }
  })

  it.each(Object.entries(FORGERIES))('that %s is refused', async (_what, forge) => {
    expect(await redeem(await forge(link))).toBe(purpose === 'Activation' ? 'Failed' : 'InvalidToken')
  })

  it('that names a device is refused', async () => {
    const claims = new RawJson(JSON.stringify({ jti: link.jwtId, sub: link.subject }))
    const jwt = await hub.jwts.signDevice({ deviceId: link.subject, claims }, new Date(Date.now() + 60_000))
    expect(await redeem(jwt)).toBe(purpose === 'Activation' ? 'Failed' : 'InvalidToken')
  })

  it('that is valid and made like the forgeries above works once', async () => {
    expect(await redeem(await signed(link).sign(link.key))).toBe('Completed')
    expect(await redeem(link.jwt)).toBe(purpose === 'Activation' ? 'Failed' : 'InvalidToken')
  })

  it('of more than 4,096 characters is refused as invalid input', async () => {
    expect(await redeem('x'.repeat(4097))).toMatch(/^Invalid: /)
  })
})

describe('a JWT that names a device', () => {
  /** All forgeries except forged ids: a JWT of a device may be used many times, so its id is not checked. */
  const forgeries = Object.entries(FORGERIES).filter(([what]) => !/ id( |$)/.test(what))
  let link: Link

  const validate = (jwt: string) => hub.pipeline.run(ANONYMOUS, 'devices_ValidateDeviceToken', { jwt })

  beforeAll(async () => {
    const { projectId } = await hub.fleet()
    const deviceId = (await deviceRow(hub, projectId)) as never
    const fingerprint = randomFingerprint()
    await hub.pipeline.run(SYSTEM, 'devices_AddCertificate', { deviceId, fingerprint, status: 'Active' })
    const { jwt } = await hub.pipeline.run(SYSTEM, 'devices_IssueDeviceToken', { deviceId, claims: { a: 1 } })
    link = {
      purpose: 'Device',
      jwt,
      jwtId: crypto.randomUUID(),
      subject: deviceId,
      claims: { claims: { a: 1 } },
      typ: 'muster-device+jwt',
      audience: 'muster:device',
      key: key('jwt Device'),
    }
  })

  it.each(forgeries)('and %s is Invalid', async (_what, forge) => {
    expect(await validate(await forge(link))).toEqual({ result: 'Invalid' })
  })

  it('and has no claims is Invalid', async () => {
    const { claims: _, ...bare } = link
    expect(await validate(await signed(bare).sign(link.key))).toEqual({ result: 'Invalid' })
  })

  it('and is valid, also when made like the forgeries above, is accepted', async () => {
    for (const jwt of [link.jwt, await signed(link).sign(link.key)])
      expect(await validate(jwt)).toEqual({ result: 'Valid', deviceId: link.subject, claims: { a: 1 } })
  })
})

function unaddressed({ jwtId, subject, claims, typ }: Link, header: object = {}): SignJWT {
  return new SignJWT({ jti: jwtId, sub: subject, ...claims }).setProtectedHeader({
    alg: 'HS256',
    typ,
    ...header,
  })
}

function signed(link: Link, header: object = {}): SignJWT {
  return unaddressed(link, header).setAudience(link.audience).setExpirationTime(AN_HOUR)
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

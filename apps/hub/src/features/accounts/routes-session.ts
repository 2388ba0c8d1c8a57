import { ActionError, Email } from '@muster/actions'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { recordAuditAction } from '../../platform/audit/actions.ts'
import type { Origin } from '../../platform/audit/facts.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { textOf } from '../../platform/http/routes-actions.ts'
import type { Route } from '../../platform/http/server.ts'
import { ANONYMOUS } from '../../platform/pipeline/caller.ts'
import type { Core } from '../../platform/pipeline/core.ts'
import { canonicalEmail, foldAscii } from '../../platform/pipeline/email-address.ts'
import { KnownBrowsers } from '../../platform/sessions/known-browsers.ts'
import { refuseForeignOrigin, type SessionCookie } from '../../platform/sessions/request-caller.ts'
import { isAccountOf } from './accounts.ts'

const Login = z.object({
  email: z.string().max(254),
  password: z.string().max(1024),
  remember: z.boolean().nullish(),
  rememberMe: z.boolean().nullish(),
})

/** Message of every failed sign-in, so that it does not reveal which part was wrong (docs/specification.md 8). */
const REFUSED = 'Invalid username or password!'

/** Sign-in. It and sign-out are routes and not actions because they set cookies (docs/decisions.md, "Sign-in and sessions"). */
export const login: Route = (core, cookie) => {
  const knownBrowsers = new KnownBrowsers(core, cookie)

  // Rejects before the body is read and the password is hashed, so that a rejected sign-in costs little.
  const refuseEarly = async (request: FastifyRequest): Promise<void> => {
    if (await knownBrowsers.of(request)) return
    core().passwords.refuseWhenCrowded()
    await core().limits.requireUnspent('sign-in address', request.remote)
  }

  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    refuseForeignOrigin(request, cookie)
    const { databaseShares, sessions, limits, passwords, firstPassword, nodeId } = core()
    const { email, password, remember, rememberMe } = parseLogin(textOf(request.body))
    const share = databaseShares.of(ANONYMOUS, request.remote, 'users_InitiateSession')
    const account = await share.repeatLocked(() => accountOf(share.db, email))
    // An attacker who fails on purpose must not lock out the owner or other people with the same client IP. Failed sign-ins of a
    // browser that the account has used before are therefore counted separately.
    const browser = await knownBrowsers.of(request)
    const isKnown = account !== undefined && browser?.userId === account.user_id
    const counts = isKnown
      ? ([['sign-in known browser', browser.jwtId]] as const)
      : ([
          ['sign-in address', request.remote],
          ['sign-in account', account?.user_id ?? canonicalEmail(email) ?? foldAscii(email)],
        ] as const)
    for (const [kind, key] of counts) await limits.take(kind, key)
    const giveBack = async (): Promise<void> => {
      for (const [kind, key] of counts) await limits.giveBack(kind, key)
    }
    const verified = isKnown
      ? passwords.verify(password, account?.password_hash)
      : passwords.verifyUnauthenticated(password, account?.password_hash)
    const matches = await verified.catch(async error => {
      await giveBack()
      throw error
    })
    const isRemembered = Boolean(remember ?? rememberMe)
    // The answer is the one for a wrong password. The log and the dashboard of the instance say why, and what to do.
    const hasEnded = matches && account !== undefined && (await firstPassword.hasEnded(account.user_id))
    const opened =
      matches && account?.is_active && !hasEnded
        ? await sessions.open(
            {
              userId: account.user_id,
              isAdmin: account.is_admin,
              passwordHash: await keptHash(passwords, databaseShares, account, password),
            },
            request.headers['user-agent'] ?? '',
            isRemembered,
            request.remote,
          )
        : undefined
    if (!account || !opened) {
      const entry = {
        action: 'users_InitiateSession',
        caller: ANONYMOUS,
        nodeId,
        requestId: request.id,
        origin: originOf(request),
      }
      // Some people type their password into the email field, and audit rows are kept for years. So only valid email addresses
      // are recorded.
      const data = Email.safeParse(email).success ? { email } : {}
      await share.repeatLocked(() => recordAuditAction(share.db, { ...entry, data }, 'Rejected', REFUSED))
      throw new ActionError('Forbidden', REFUSED, { status: 401 })
    }
    await giveBack()
    // Ends the session that the browser still has, so that its secret does not stay valid after the new sign-in.
    const before = request.cookies[cookie.name]
    if (before) await sessions.end(before, originOf(request))
    const { token, maxAgeSecs } = opened
    reply.setCookie(cookie.name, token, {
      ...attributesOf(cookie),
      ...(isRemembered && { maxAge: maxAgeSecs }),
    })
    await knownBrowsers.remember(reply, account.user_id)
    return reply.header('cache-control', 'no-store').send({})
  }
  return { onRequest: refuseEarly, handler }
}

/** Sign-out. */
export const logout: Route = (core, cookie) => ({
  async handler(request, reply) {
    refuseForeignOrigin(request, cookie)
    const token = request.cookies[cookie.name]
    if (token) await core().sessions.end(token, originOf(request))
    reply.clearCookie(cookie.name, attributesOf(cookie))
    return reply.header('cache-control', 'no-store').send({})
  },
})

/** Attributes of the cookie of a session. */
function attributesOf({ isSecure }: SessionCookie) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure } as const
}

/** IP address and browser of a request, for the audit log. */
function originOf(request: FastifyRequest): Origin {
  return { address: request.remote, browser: request.headers['user-agent'] }
}

type Account = { user_id: string; password_hash: string | null; is_admin: boolean; is_active: boolean }

async function accountOf(db: Db, email: string): Promise<Account | undefined> {
  return db
    .selectFrom('user')
    .where(isAccountOf(email))
    .select(['user_id', 'password_hash', 'is_admin', 'is_active'])
    .executeTakeFirst()
}

/** Returns the stored password hash. If its parameters are weaker than those of new hashes, stores a new hash and returns it. */
async function keptHash(
  passwords: Core['passwords'],
  shares: Core['databaseShares'],
  { user_id, password_hash }: Account,
  password: string,
): Promise<string> {
  const stored = password_hash!
  const stronger = await passwords.strongerHash(password, stored)
  if (stronger === undefined) return stored
  const share = shares.ofPerson(user_id, 'users_InitiateSession')
  await share.repeatLocked(() =>
    share.db
      .updateTable('user')
      .set({ password_hash: stronger })
      .where('user_id', '=', user_id)
      .where('password_hash', '=', stored)
      .execute(),
  )
  return stronger
}

function parseLogin(text: string): z.output<typeof Login> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ActionError('Invalid', 'The body is not valid JSON.', { cause })
  }
  const parsed = Login.safeParse(value)
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
    throw new ActionError('Invalid', 'Expected {"email", "password", "remember"?}.', { issues })
  }
  // Replaces characters that PostgreSQL cannot store. No real email address has them, but the audit row of the attempt must be written.
  const email = parsed.data.email.trim().replaceAll('\0', '\ufffd').toWellFormed()
  return { ...parsed.data, email }
}

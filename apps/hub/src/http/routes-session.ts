import { ActionError } from '@muster/actions'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Db } from '../database/connection.ts'
import type { Core } from '../hub.ts'
import { verifyPassword } from '../passwords.ts'
import { refuseForeignOrigin, type SessionCookie } from './request-caller.ts'
import { textOf } from './routes-actions.ts'

const Login = z.object({
  email: z.string().max(254),
  password: z.string().max(1024),
  remember: z.boolean().nullish(),
  rememberMe: z.boolean().nullish(),
})

/** The one answer to a sign-in that does not succeed, whatever the reason (spec 8). */
const REFUSED = 'Invalid username or password!'

/** Sign-in and sign-out: they set cookies, so they are direct calls and not actions (decisions). */
export function sessionRoutes(app: FastifyInstance, core: () => Core, cookie: SessionCookie): void {
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: cookie.isSecure } as const

  app.post('/api/private/login', async (request, reply) => {
    refuseForeignOrigin(request, cookie)
    const { db, sessions } = core()
    const { email, password, remember, rememberMe } = parseLogin(textOf(request.body))
    const user = await accountOf(db, email.trim())
    const matches = await verifyPassword(password, user?.password_hash)
    if (!user || !matches || !user.is_active) throw new ActionError('Forbidden', REFUSED, { status: 401 })
    // A session that the browser still has ends: its id must not live on in the new one's place.
    const before = request.cookies[cookie.name]
    if (before) await sessions.end(before)
    const isRemembered = Boolean(remember ?? rememberMe)
    const { token, maxAgeSecs } = await sessions.open(
      { userId: user.user_id, isAdmin: user.is_admin },
      request.headers['user-agent'] ?? '',
      isRemembered,
    )
    reply.setCookie(cookie.name, token, { ...attributes, ...(isRemembered && { maxAge: maxAgeSecs }) })
    return reply.header('cache-control', 'no-store').send({})
  })

  app.post('/api/private/logout', async (request, reply) => {
    refuseForeignOrigin(request, cookie)
    const token = request.cookies[cookie.name]
    if (token) await core().sessions.end(token)
    reply.clearCookie(cookie.name, attributes)
    return reply.header('cache-control', 'no-store').send({})
  })
}

async function accountOf(db: Db, email: string) {
  // The database does not even take such an address.
  if (email.includes('\0')) return undefined
  return db
    .selectFrom('user')
    .where(({ eb, fn, val }) => eb(fn('lower', ['email']), '=', fn('lower', [val(email)])))
    .select(['user_id', 'password_hash', 'is_admin', 'is_active'])
    .executeTakeFirst()
}

function parseLogin(text: string): z.output<typeof Login> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ActionError('Invalid', 'The body is not valid JSON.', { cause })
  }
  const parsed = Login.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw new ActionError('Invalid', 'Expected {"email", "password", "remember"?}.', { issues })
}

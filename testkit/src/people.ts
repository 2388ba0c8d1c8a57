import { type Answer, ask } from './http.ts'
import type { TestHub } from './test-hub.ts'

/** Longest wait for the work that commands leave for after their answers, in milliseconds. */
const SETTLE_MS = 30_000

/** Signs in through the same endpoint as the console's form. */
export function signIn(
  hub: Pick<TestHub, 'url'>,
  email: string,
  password: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return ask(hub, '/api/private/login', { body: { email, password }, headers })
}

/** JWT of the newest unused link that was mailed to the address of an account. Throws if no such link exists. */
export async function mailedJwt(
  hub: Pick<TestHub, 'db' | 'jwts' | 'pipeline'>,
  purpose: 'Activation' | 'PasswordReset' | 'EmailChange',
  email: string,
): Promise<string> {
  // The hub creates links after its answers.
  await hub.pipeline.settled(SETTLE_MS)
  const row = await hub.db
    .selectFrom('mailed_token as t')
    .innerJoin('user as u', 'u.user_id', 't.user_id')
    .where(({ eb, fn, val }) => eb(fn('lower', ['u.email']), '=', fn('lower', [val(email)])))
    .where('t.purpose', '=', purpose)
    .where('t.used_at', 'is', null)
    .orderBy('t.created_at', 'desc')
    .select(['t.jwt_id', 't.user_id', 't.expires_at'])
    .executeTakeFirstOrThrow()
  return hub.jwts.sign(purpose, { jwtId: row.jwt_id, userId: row.user_id }, row.expires_at)
}

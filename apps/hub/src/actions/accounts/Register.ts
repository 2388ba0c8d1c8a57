import { ActionError, newId } from '@muster/actions'
import { hasEmail } from '../../database/accounts.ts'
import type { Tx } from '../../database/connection.ts'
import { ACTIVATION_SECS, issueMailedToken } from '../../database/mailed-tokens.ts'
import { handler } from '../../handler.ts'
import { hashPassword } from '../../passwords.ts'
import { wireTime } from '../../times.ts'

export const users_Register = handler(
  'users_Register',
  async ({ tx, events, services, enqueue }, { email, displayName, password, ...consent }) => {
    if (services.signup === 'closed')
      throw new ActionError('Forbidden', 'Sign-up is closed on this instance.')
    if (services.signup === 'invite' && !(await isInvited(tx, email)))
      throw new ActionError('Forbidden', 'Sign-up on this instance is by invitation only.')
    const known = await accountOf(tx, email)
    if (known) return known

    const userId = newId('u')
    const passwordHash = await hashPassword(password)
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('user')
      .values({
        user_id: userId,
        email,
        display_name: displayName ?? null,
        password_hash: passwordHash,
        is_active: false,
        consented_to_terms: consent.consentedToTerms,
        consented_to_marketing: consent.consentedToMarketing ?? false,
      })
      .onConflict(conflict => conflict.doNothing())
      .executeTakeFirst()
    // Somebody else was faster with the same address, and has committed.
    if (numInsertedOrUpdatedRows === 0n) return (await accountOf(tx, email))!
    const createdAt = new Date()
    await tx
      .insertInto('registration')
      .values({ user_id: userId, status: 'Pending', created_at: createdAt })
      .execute()
    const jwtId = await issueMailedToken(tx, 'Activation', userId, ACTIVATION_SECS)
    await enqueue('users_SendRegistrationEmail', { jwtId })
    await events.emit('users_RegistrationCreated', { userId, email })
    return { result: 'Created' as const, status: { tag: 'Pending' as const }, createdAt: wireTime(createdAt) }
  },
)

/** What is answered for an address that has an account already, finished or not; nothing for a new one. */
async function accountOf(tx: Tx, email: string) {
  const account = await tx
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where(hasEmail(email))
    .select(['r.status', 'r.created_at'])
    .executeTakeFirst()
  if (!account) return undefined
  if (account.status !== 'Pending') return { result: 'EmailAlreadyExists' as const }
  const createdAt = wireTime(account.created_at!)
  return { result: 'Pending' as const, status: { tag: 'Pending' as const }, createdAt }
}

async function isInvited(tx: Tx, email: string): Promise<boolean> {
  const invitation = await tx
    .selectFrom('organization_invitation')
    .where(hasEmail(email))
    .select('invitation_id')
    .limit(1)
    .executeTakeFirst()
  return invitation !== undefined
}

import { ActionError, newId } from '@muster/actions'
import { sql } from 'kysely'
import { refuseGuessable } from '../../../platform/credentials/guessable-password.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { isSameEmail, requireCanonical } from '../../../platform/pipeline/email-address.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { isInvitationTo, isOpen } from '../../organizations/index.ts'
import { isTakenBy } from '../accounts.ts'
import { ACTIVATION_SECS, mailLink } from '../mailed-tokens.ts'

/**
 * Signs a person up. The account is inactive until the mailed activation link is opened. Throws `Forbidden` when sign-up is
 * closed, or is by invitation only and the email address has no open invitation, and `Invalid` (409) for an address that is not stable.
 */
export const users_Register = handler('users_Register', {
  prepare: async ({ db, services }, { email, displayName, password, ...consent }) => {
    if (services.signup === 'closed')
      throw new ActionError('Forbidden', 'Sign-up is closed on this instance.')
    const canonical = requireCanonical(email)
    if (services.signup === 'invite' && !(await isInvited(db, email)))
      throw new ActionError('Forbidden', 'Sign-up on this instance is by invitation only.')
    refuseGuessable(password, email)
    const known = await accountOf(db, email)
    if (known) {
      const { userId, passwordHash, answer } = known
      // Anybody can sign up for an email address that they do not own. If a second sign-up before the activation has another
      // password, the account loses its password, and the activation mails a link to set one (docs/decisions.md, "Accounts").
      const isContested =
        answer.result === 'Pending' && !(await services.passwords.verify(password, passwordHash))
      return async ({ tx }) => {
        if (isContested)
          await tx
            .updateTable('user')
            .set({ password_hash: null })
            .where('user_id', '=', userId)
            // The account may have been activated after it was read. An active account keeps its password.
            .where('is_active', '=', false)
            .execute()
        return answer
      }
    }

    const passwordHash = await services.passwords.hash(password)
    return async context => {
      const { tx, events } = context
      const userId = newId('u')
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('user')
        .values({
          user_id: userId,
          email,
          canonical_email: canonical,
          display_name: displayName ?? null,
          password_hash: passwordHash,
          is_active: false,
          consented_to_terms: consent.consentedToTerms,
          consented_to_marketing: consent.consentedToMarketing ?? false,
        })
        .onConflict(conflict => conflict.doNothing())
        .executeTakeFirst()
      // A concurrent sign-up for this email address has committed first.
      if (numInsertedOrUpdatedRows === 0n) return (await accountOf(tx, email))!.answer
      const createdAt = new Date()
      await tx
        .insertInto('registration')
        .values({ user_id: userId, status: 'Pending', created_at: createdAt })
        .execute()
      await mailLink(context, 'Activation', userId, ACTIVATION_SECS)
      await events.emit('users_RegistrationCreated', { userId, email })
      return pending('Created', createdAt)
    }
  },
})

/**
 * Finds the account that has an email address, activated or not, and the answer that a repeated sign-up gets. Undefined for an unknown
 * address.
 */
async function accountOf(db: Db, email: string) {
  const account = await db
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where(isTakenBy(email, sql.ref('u.user_id')))
    .select(['u.user_id', 'u.email', 'u.password_hash', 'r.status', 'r.created_at'])
    .executeTakeFirst()
  if (!account) return undefined
  const answer =
    account.status === 'Pending' && isSameEmail(account.email, email)
      ? pending('Pending', account.created_at!)
      : { result: 'EmailAlreadyExists' as const }
  return { userId: account.user_id, passwordHash: account.password_hash, answer }
}

function pending<const Result extends 'Created' | 'Pending'>(result: Result, createdAt: Date) {
  return { result, status: { tag: 'Pending' as const }, createdAt: wireTime(createdAt) }
}

async function isInvited(db: Db, email: string): Promise<boolean> {
  const invitation = await db
    .selectFrom('organization_invitation as i')
    .where(isInvitationTo(email))
    .where(isOpen)
    .select('i.invitation_id')
    .limit(1)
    .executeTakeFirst()
  return invitation !== undefined
}

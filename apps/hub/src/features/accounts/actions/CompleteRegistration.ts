import { handler } from '../../../platform/pipeline/handler.ts'
import { createOwnOrganization } from '../../organizations/index.ts'
import { FIRST_PASSWORD_SECS, mailLink, redeemMailedToken } from '../mailed-tokens.ts'

/**
 * Activates an account with the JWT of a mailed activation link and creates an organization for it. An account without a password
 * also gets a mail with a link to set one.
 */
export const users_CompleteRegistration = handler(
  'users_CompleteRegistration',
  async (context, { activationToken }) => {
    const { tx, events, services, ownerProved } = context
    const claims = await services.jwts.verify('Activation', activationToken)
    const redeemed = claims && (await redeemMailedToken(tx, 'Activation', claims))
    if (!redeemed) return { result: 'Failed' as const }
    const { userId } = redeemed
    const completed = await tx
      .updateTable('registration')
      .set({ status: 'Completed' })
      .where('user_id', '=', userId)
      .where('status', '=', 'Pending')
      .returning('user_id')
      .executeTakeFirst()
    if (!completed) return { result: 'Failed' as const }
    const {
      email,
      display_name: displayName,
      password_hash: hash,
    } = await tx
      .updateTable('user')
      .set({ is_active: true })
      .where('user_id', '=', userId)
      .returning(['email', 'display_name', 'password_hash'])
      .executeTakeFirstOrThrow()
    await events.emit('users_RegistrationCompleted', { userId })
    await events.emit('users_Created', { userId, email })
    await createOwnOrganization(context, { userId, email, displayName })
    if (hash === null) await mailLink(context, 'PasswordReset', userId, FIRST_PASSWORD_SECS)
    ownerProved(userId)
    return { result: 'Completed' as const }
  },
)

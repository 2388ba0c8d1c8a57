import { handler } from '../../../platform/pipeline/handler.ts'
import { isAccountOf } from '../accounts.ts'
import { FIRST_PASSWORD_SECS, mailLink, PASSWORD_RESET_SECS } from '../mailed-tokens.ts'

/**
 * Mails a link to set a password. The answer is always `{}`, and the account is looked up after it, so neither the answer nor its time reveals
 * whether the email address has an account.
 */
export const users_ResetPassword = handler('users_ResetPassword', async ({ afterAnswer }, { email }) => {
  afterAnswer(async context => {
    const account = await context.tx
      .selectFrom('user')
      .where(isAccountOf(email))
      .where('is_active', '=', true)
      .select(['user_id', 'password_hash'])
      .executeTakeFirst()
    if (!account) return
    const { user_id: userId, password_hash: hash } = account
    // An account without a password was created by another person, or sign-ups for its address had different passwords. Its
    // owner may not expect this mail, so the mailed link works for 7 days instead of one hour.
    const validForSecs = hash === null ? FIRST_PASSWORD_SECS : PASSWORD_RESET_SECS
    if (await mailLink(context, 'PasswordReset', userId, validForSecs))
      await context.events.emit('users_PasswordResetRequested', { userId })
  })
  return {}
})

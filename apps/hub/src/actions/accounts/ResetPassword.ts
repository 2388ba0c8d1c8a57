import { hasEmail } from '../../database/accounts.ts'
import { issueMailedToken, PASSWORD_RESET_SECS } from '../../database/mailed-tokens.ts'
import { handler } from '../../handler.ts'

export const users_ResetPassword = handler(
  'users_ResetPassword',
  async ({ tx, events, enqueue }, { email }) => {
    const account = await tx
      .selectFrom('user')
      .where(hasEmail(email))
      .where('is_active', '=', true)
      .select('user_id')
      .executeTakeFirst()
    if (account) {
      const userId = account.user_id
      const jwtId = await issueMailedToken(tx, 'PasswordReset', userId, PASSWORD_RESET_SECS)
      await enqueue('users_SendPasswordEmail', { jwtId })
      await events.emit('users_PasswordResetRequested', { userId })
    }
    return {}
  },
)

import { setPassword } from '../../database/accounts.ts'
import { redeemMailedToken } from '../../database/mailed-tokens.ts'
import { handler } from '../../handler.ts'

export const users_CompletePasswordReset = handler(
  'users_CompletePasswordReset',
  async (context, { resetToken, password }) => {
    const { tx, events, services } = context
    const userId = await redeemMailedToken(tx, services.jwts, 'PasswordReset', resetToken)
    if (!userId) return { result: 'InvalidToken' as const }
    await setPassword(context, userId, password)
    await events.emit('users_PasswordResetCompleted', { userId })
    return { result: 'Completed' as const }
  },
)

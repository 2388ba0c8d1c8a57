import { setPassword } from '../../database/accounts.ts'
import { redeemMailedToken } from '../../database/mailed-tokens.ts'
import { handler } from '../../handler.ts'
import { hashPassword } from '../../passwords.ts'

const INVALID = { result: 'InvalidToken' as const }

export const users_CompletePasswordReset = handler('users_CompletePasswordReset', {
  prepare: async ({ services }, { resetToken, password }) => {
    const claims = await services.jwts.verify('PasswordReset', resetToken)
    if (!claims) return async () => INVALID
    const hash = await hashPassword(password)
    return async context => {
      const { tx, events } = context
      const userId = await redeemMailedToken(tx, 'PasswordReset', claims)
      if (!userId) return INVALID
      await setPassword(context, userId, hash)
      await events.emit('users_PasswordResetCompleted', { userId })
      return { result: 'Completed' as const }
    }
  },
})

import { refuseGuessable } from '../../../platform/credentials/guessable-password.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { emailOf, setPassword } from '../accounts.ts'
import { redeemMailedToken } from '../mailed-tokens.ts'

const INVALID = { result: 'InvalidToken' as const }

/**
 * Sets a new password with the JWT of a mailed link. Ends every session and user token of the account. The result is
 * `InvalidToken` for an expired, used or voided JWT and for the JWT of a deleted account.
 */
export const users_CompletePasswordReset = handler('users_CompletePasswordReset', {
  prepare: async ({ db, services }, { resetToken, password }) => {
    const claims = await services.jwts.verify('PasswordReset', resetToken)
    if (!claims) return async () => INVALID
    const email = await emailOf(db, claims.userId)
    if (email === undefined) return async () => INVALID
    refuseGuessable(password, email)
    const passwordHash = await services.passwords.hash(password)
    return async context => {
      const { tx, events, ownerProved } = context
      const redeemed = await redeemMailedToken(tx, 'PasswordReset', claims)
      if (!redeemed) return INVALID
      const { userId } = redeemed
      await setPassword(context, { userId, passwordHash, by: 'link', endTokens: true })
      await events.emit('users_PasswordResetCompleted', { userId })
      ownerProved(userId)
      return { result: 'Completed' as const }
    }
  },
})

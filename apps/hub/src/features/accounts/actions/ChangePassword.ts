import { refuseGuessable } from '../../../platform/credentials/guessable-password.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { setPassword } from '../accounts.ts'

const WRONG = { result: 'InvalidCurrentPassword' as const }

/** Sets a new password after verifying the current one. Verifying and hashing are slow, so they run before the transaction. */
export const users_ChangePassword = handler('users_ChangePassword', {
  prepare: async ({ db, caller, services }, { userId, currentPassword, newPassword, endTokens = false }) => {
    const { email, password_hash: stored } = await db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select(['email', 'password_hash'])
      .executeTakeFirstOrThrow()
    if (!(await services.passwords.verify(currentPassword, stored))) return async () => WRONG
    refuseGuessable(newPassword, email, 'newPassword')
    const passwordHash = await services.passwords.hash(newPassword, 'newPassword')
    return async context => {
      const account = await context.tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .select('password_hash')
        .forNoKeyUpdate()
        .executeTakeFirstOrThrow()
      // Another call changed the password after `prepare` verified `currentPassword`, so the verification no longer counts.
      if (account.password_hash !== stored) return WRONG
      await setPassword(context, {
        userId,
        passwordHash,
        by: 'owner',
        keptSessionId: caller.actor === 'User' ? caller.sessionId : undefined,
        endTokens,
      })
      await context.events.emit('users_SetPassword', { userId })
      return { result: 'Completed' as const }
    }
  },
})

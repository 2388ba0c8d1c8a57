import { setPassword } from '../../database/accounts.ts'
import { handler } from '../../handler.ts'
import { hashPassword, verifyPassword } from '../../passwords.ts'

const WRONG = { result: 'InvalidCurrentPassword' as const }

export const users_ChangePassword = handler('users_ChangePassword', {
  prepare: async ({ db, caller }, { userId, currentPassword, newPassword }) => {
    const { password_hash: stored } = await db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select('password_hash')
      .executeTakeFirstOrThrow()
    if (!(await verifyPassword(currentPassword, stored))) return async () => WRONG
    const hash = await hashPassword(newPassword)
    return async context => {
      const account = await context.tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .select('password_hash')
        .forNoKeyUpdate()
        .executeTakeFirstOrThrow()
      // Another one was set meanwhile.
      if (account.password_hash !== stored) return WRONG
      await setPassword(context, userId, hash, caller.actor === 'User' ? caller.sessionId : undefined)
      await context.events.emit('users_SetPassword', { userId })
      return { result: 'Completed' as const }
    }
  },
})

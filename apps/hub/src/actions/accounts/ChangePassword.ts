import { setPassword } from '../../database/accounts.ts'
import { handler } from '../../handler.ts'
import { verifyPassword } from '../../passwords.ts'

export const users_ChangePassword = handler(
  'users_ChangePassword',
  async (context, { userId, currentPassword, newPassword }) => {
    const { tx, caller, events } = context
    const { password_hash: stored } = await tx
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select('password_hash')
      .executeTakeFirstOrThrow()
    if (!(await verifyPassword(currentPassword, stored))) return { result: 'InvalidCurrentPassword' as const }
    await setPassword(context, userId, newPassword, caller.actor === 'User' ? caller.sessionId : undefined)
    await events.emit('users_SetPassword', { userId })
    return { result: 'Completed' as const }
  },
)

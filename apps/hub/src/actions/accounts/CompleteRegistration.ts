import { redeemMailedToken } from '../../database/mailed-tokens.ts'
import { createOwnOrganization } from '../../database/organizations.ts'
import { handler } from '../../handler.ts'

export const users_CompleteRegistration = handler(
  'users_CompleteRegistration',
  async ({ tx, events, services }, { activationToken }) => {
    const userId = await redeemMailedToken(tx, services.jwts, 'Activation', activationToken)
    if (!userId) return { result: 'Failed' as const }
    const completed = await tx
      .updateTable('registration')
      .set({ status: 'Completed' })
      .where('user_id', '=', userId)
      .where('status', '=', 'Pending')
      .returning('user_id')
      .executeTakeFirst()
    if (!completed) return { result: 'Failed' as const }
    const { email, display_name: displayName } = await tx
      .updateTable('user')
      .set({ is_active: true })
      .where('user_id', '=', userId)
      .returning(['email', 'display_name'])
      .executeTakeFirstOrThrow()
    await events.emit('users_RegistrationCompleted', { userId })
    await events.emit('users_Created', { userId, email })
    await createOwnOrganization({ tx, events }, { userId, email, displayName })
    return { result: 'Completed' as const }
  },
)

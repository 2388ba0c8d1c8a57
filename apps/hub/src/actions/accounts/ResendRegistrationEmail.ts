import { hasEmail } from '../../database/accounts.ts'
import { ACTIVATION_SECS, issueMailedToken } from '../../database/mailed-tokens.ts'
import { handler } from '../../handler.ts'

export const users_ResendRegistrationEmail = handler(
  'users_ResendRegistrationEmail',
  async ({ tx, enqueue }, { email }) => {
    const registration = await tx
      .selectFrom('registration as r')
      .innerJoin('user as u', 'u.user_id', 'r.user_id')
      .where(hasEmail(email))
      .where('r.status', '=', 'Pending')
      .select('r.user_id')
      .executeTakeFirst()
    if (registration) {
      const jwtId = await issueMailedToken(tx, 'Activation', registration.user_id, ACTIVATION_SECS)
      await enqueue('users_SendRegistrationEmail', { jwtId })
    }
    return {}
  },
)

import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isAccountOf } from '../accounts.ts'
import { ACTIVATION_SECS, mailLink } from '../mailed-tokens.ts'

/**
 * Mails another activation link. The answer is always `{}`, and the account is looked up after it, so neither the answer nor its time reveals
 * whether the email address has an account.
 */
export const users_ResendRegistrationEmail = handler(
  'users_ResendRegistrationEmail',
  async ({ afterAnswer }, { email }) => {
    afterAnswer(async context => {
      const registration = await context.tx
        .selectFrom('registration as r')
        .innerJoin('user as u', 'u.user_id', 'r.user_id')
        .where(isAccountOf(email, sql.ref('u.user_id')))
        .where('r.status', '=', 'Pending')
        .select('r.user_id')
        .executeTakeFirst()
      if (registration) await mailLink(context, 'Activation', registration.user_id, ACTIVATION_SECS)
    })
    return {}
  },
)

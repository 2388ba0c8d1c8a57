import { ActionError } from '@muster/actions'
import { isSameEmail, requireCanonical } from '../../../platform/pipeline/email-address.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isOfAnother } from '../email-change.ts'
import { EMAIL_CHANGE_SECS, mailLink, voidMailedTokens } from '../mailed-tokens.ts'

const WRONG = { result: 'InvalidCurrentPassword' as const }

/**
 * Mails a link to a new address of the caller and a notice to the present one. Earlier links of this kind no longer work. Throws `Invalid`
 * (409) for an address that is not stable.
 */
export const users_InitiateEmailChange = handler('users_InitiateEmailChange', {
  prepare: async ({ db, services }, { userId, currentPassword, newEmail }) => {
    const { password_hash: stored } = await db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select('password_hash')
      .executeTakeFirstOrThrow()
    if (!(await services.passwords.verify(currentPassword, stored))) return async () => WRONG
    requireCanonical(newEmail, 'newEmail')
    return async context => {
      const { tx, events, enqueue } = context
      const { email, password_hash: hash } = await tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .select(['email', 'password_hash'])
        .forNoKeyUpdate()
        .executeTakeFirstOrThrow()
      // Another call changed the password after `prepare` verified `currentPassword`, so the verification no longer counts.
      if (hash !== stored) return WRONG
      if (isSameEmail(email, newEmail)) return { result: 'SameEmail' as const }
      if (await isOfAnother(tx, newEmail, userId)) return { result: 'EmailAlreadyExists' as const }
      await voidMailedTokens(tx, ['EmailChange'], userId)
      const jwtId = await mailLink(context, 'EmailChange', userId, EMAIL_CHANGE_SECS, newEmail)
      if (!jwtId)
        throw new ActionError('RateLimited', 'Too many links were mailed in the last hour: wait an hour.', {
          retryAfterSecs: 3600,
        })
      await enqueue('users_SendEmailChangeNotice', { jwtId })
      await events.emit('users_EmailChangeRequested', { userId, newEmail })
      return { result: 'Pending' as const }
    }
  },
})

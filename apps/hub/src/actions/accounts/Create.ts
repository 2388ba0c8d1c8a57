import { newId } from '@muster/actions'
import { refuseGuessable } from '../../credentials/guessable-password.ts'
import { FIRST_PASSWORD_SECS, mailLink } from '../../database/queries/accounts/mailed-tokens.ts'
import { createOwnOrganization } from '../../database/queries/organizations/organizations.ts'
import { handler } from '../../handler.ts'

/**
 * Creates an active account and an organization for it. Without a password, the owner of the account gets a mail with a link to
 * set one.
 */
export const users_Create = handler('users_Create', {
  prepare: async ({ services }, { email, displayName, name, password, isAdmin = false }) => {
    if (password !== undefined) refuseGuessable(password, email)
    const passwordHash = password === undefined ? null : await services.passwords.hash(password)
    return async context => {
      const { tx, events } = context
      const userId = newId('u')
      const shownName = displayName ?? name ?? null
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('user')
        .values({
          user_id: userId,
          email,
          display_name: shownName,
          password_hash: passwordHash,
          is_admin: isAdmin,
        })
        .onConflict(conflict => conflict.doNothing())
        .executeTakeFirst()
      if (numInsertedOrUpdatedRows === 0n) return { result: 'EmailAlreadyExists' as const }
      await events.emit('users_Created', { userId, email })
      await createOwnOrganization(context, { userId, email, displayName: shownName })
      if (passwordHash === null) await mailLink(context, 'PasswordReset', userId, FIRST_PASSWORD_SECS)
      return { result: 'Created' as const, userId }
    }
  },
})

import { refuseGuessable } from '../../../platform/credentials/guessable-password.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { createAccount } from '../accounts.ts'
import { FIRST_PASSWORD_SECS, mailLink } from '../mailed-tokens.ts'

/**
 * Creates an active account and an organization for it. Without a password, the owner of the account gets a mail with a link to
 * set one.
 */
export const users_Create = handler('users_Create', {
  prepare: async ({ services }, { email, displayName, name, password, isAdmin = false }) => {
    if (password !== undefined) refuseGuessable(password, email)
    const passwordHash = password === undefined ? null : await services.passwords.hash(password)
    return async context => {
      const account = { email, displayName: displayName ?? name ?? null, passwordHash, isAdmin }
      const userId = await createAccount(context, account)
      if (userId === undefined) return { result: 'EmailAlreadyExists' as const }
      if (passwordHash === null) await mailLink(context, 'PasswordReset', userId, FIRST_PASSWORD_SECS)
      return { result: 'Created' as const, userId }
    }
  },
})

import { refusal } from '../../../platform/access/authorize.ts'
import { refuseGuessable } from '../../../platform/credentials/guessable-password.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { emailOf, setPassword } from '../accounts.ts'

/** Sets the password of an account and ends its sessions except the session that makes the call. */
export const users_SetPassword = handler('users_SetPassword', {
  prepare: async ({ db, caller, services }, { userId, password, endTokens = false }) => {
    const email = await emailOf(db, userId)
    // The account was deleted after the permission check.
    if (email === undefined) throw refusal()
    refuseGuessable(password, email)
    const passwordHash = await services.passwords.hash(password)
    const isOwner = personOf(caller)?.userId === userId
    return async context => {
      await setPassword(context, {
        userId,
        passwordHash,
        by: isOwner ? 'owner' : 'administrator',
        keptSessionId: caller.actor === 'User' ? caller.sessionId : undefined,
        // An administrator sets another person's password when the owner lost it or lost control of the account. An attacker may then
        // have created user tokens, so these end too.
        endTokens: endTokens || !isOwner,
      })
      await context.events.emit('users_SetPassword', { userId })
      return {}
    }
  },
})

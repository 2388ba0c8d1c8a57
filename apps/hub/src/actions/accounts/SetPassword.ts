import { setPassword } from '../../database/accounts.ts'
import { handler } from '../../handler.ts'
import { hashPassword } from '../../passwords.ts'

export const users_SetPassword = handler('users_SetPassword', {
  prepare: async ({ caller }, { userId, password }) => {
    const hash = await hashPassword(password)
    return async context => {
      await setPassword(context, userId, hash, caller.actor === 'User' ? caller.sessionId : undefined)
      await context.events.emit('users_SetPassword', { userId })
      return {}
    }
  },
})

import { setPassword } from '../../database/accounts.ts'
import { handler } from '../../handler.ts'

export const users_SetPassword = handler('users_SetPassword', async (context, { userId, password }) => {
  const { caller, events } = context
  await setPassword(context, userId, password, caller.actor === 'User' ? caller.sessionId : undefined)
  await events.emit('users_SetPassword', { userId })
  return {}
})

import { handler } from '../../../platform/pipeline/handler.ts'
import { keepAnAdministrator } from '../accounts.ts'

/**
 * Makes an account an administrator of the instance, or revokes that role. Throws `Invalid` when the last active administrator would lose
 * the role.
 */
export const users_SetIsAdmin = handler('users_SetIsAdmin', async ({ tx, events }, { userId, isAdmin }) => {
  if (!isAdmin) await keepAnAdministrator(tx, userId)
  const before = await tx
    .selectFrom('user')
    .where('user_id', '=', userId)
    .select('is_admin')
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  await tx.updateTable('user').set({ is_admin: isAdmin }).where('user_id', '=', userId).execute()
  await events.emit('users_SetIsAdmin', { userId, isAdmin }, { old: { isAdmin: before.is_admin } })
  return {}
})

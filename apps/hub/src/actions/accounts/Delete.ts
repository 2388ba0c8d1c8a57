import { ActionError } from '@muster/actions'
import { personOf } from '../../caller.ts'
import { keepAnAdministrator } from '../../database/queries/accounts/accounts.ts'
import { organizationIdsOf } from '../../database/queries/organizations/organization-members.ts'
import { handler } from '../../handler.ts'

/**
 * Tokens, sessions and memberships go by cascade. An organization whose only administrator this was keeps its members and its
 * devices, and nobody is promoted: administrators of the instance can name a new one.
 */
export const users_Delete = handler('users_Delete', async ({ tx, events, caller, changed }, { userId }) => {
  if (personOf(caller)?.userId === userId)
    throw new ActionError('Invalid', 'Nobody can delete their own account: ask another administrator.', {
      status: 409,
    })
  await keepAnAdministrator(tx, userId)
  const organizationIds = await organizationIdsOf(tx, userId)
  await tx.deleteFrom('user').where('user_id', '=', userId).returning('user_id').executeTakeFirstOrThrow()
  await events.emit('users_Deleted', { userId })
  for (const organizationId of organizationIds) changed('members', { organizationId })
  return {}
})

import { ActionError } from '@muster/actions'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { organizationIdsOf } from '../../organizations/index.ts'
import { keepAnAdministrator } from '../accounts.ts'

/**
 * Deletes an account. Foreign keys with `on delete cascade` delete its tokens, sessions and memberships. An organization that loses its
 * only administrator keeps its members and devices. The hub promotes no other member. An administrator of the instance can appoint a new
 * administrator.
 */
export const users_Delete = handler('users_Delete', async (context, { userId }) => {
  const { tx, events, caller, services, changed, afterCommit } = context
  if (personOf(caller)?.userId === userId)
    throw new ActionError('Invalid', 'You cannot delete your own account: ask another administrator.', {
      status: 409,
    })
  await keepAnAdministrator(tx, userId)
  const organizationIds = await organizationIdsOf(tx, userId)
  const old = await tx
    .deleteFrom('user')
    .where('user_id', '=', userId)
    .returning('email')
    .executeTakeFirstOrThrow()
  await events.emit('users_Deleted', { userId }, { old })
  for (const organizationId of organizationIds) changed('members', { organizationId })
  afterCommit(() => services.rights.announce({ userId }))
  return {}
})

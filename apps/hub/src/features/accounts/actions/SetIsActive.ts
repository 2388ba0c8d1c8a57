import { ActionError } from '@muster/actions'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { organizationIdsOf } from '../../organizations/index.ts'
import { setIsActive } from '../accounts.ts'

/**
 * Enables or disables an account. Disabling deletes its sessions, user tokens and mailed links to set a password. Enabling does not
 * restore them, because another person may have obtained them. Memberships and invitations stay.
 */
export const users_SetIsActive = handler('users_SetIsActive', async (context, { userId, isActive }) => {
  const { tx, caller, changed } = context
  if (!isActive && personOf(caller)?.userId === userId)
    throw new ActionError('Invalid', 'You cannot disable your own account: ask another administrator.', {
      status: 409,
    })
  if (await setIsActive(context, userId, isActive))
    for (const organizationId of await organizationIdsOf(tx, userId)) changed('members', { organizationId })
  return {}
})

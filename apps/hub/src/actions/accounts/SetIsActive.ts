import { ActionError } from '@muster/actions'
import { personOf } from '../../caller.ts'
import { lockAccount } from '../../database/queries/accounts/account-lock.ts'
import { endSessions, endUserTokens, keepAnAdministrator } from '../../database/queries/accounts/accounts.ts'
import { voidMailedTokens } from '../../database/queries/accounts/mailed-tokens.ts'
import { organizationIdsOf } from '../../database/queries/organizations/organization-members.ts'
import { handler } from '../../handler.ts'

/**
 * Enables or disables an account. Disabling deletes its sessions, user tokens and mailed links to set a password. Enabling does not
 * restore them, because another person may have obtained them. Memberships and invitations stay.
 */
export const users_SetIsActive = handler('users_SetIsActive', async (context, { userId, isActive }) => {
  const { tx, events, caller, changed } = context
  if (!isActive) {
    if (personOf(caller)?.userId === userId)
      throw new ActionError('Invalid', 'You cannot disable your own account: ask another administrator.', {
        status: 409,
      })
    await keepAnAdministrator(tx, userId)
  }
  await lockAccount(tx, userId)
  const account = await tx
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where('u.user_id', '=', userId)
    .select(['u.is_active', 'r.status'])
    .executeTakeFirstOrThrow()
  // A pending account must not be enabled here: its owner has not proved control of the email address.
  if (account.status === 'Pending')
    throw new ActionError(
      'Invalid',
      'Found an account that is not activated yet, expected one whose owner opened the mailed link: wait, or delete it.',
      { status: 409 },
    )
  if (account.is_active === isActive) return {}
  await tx.updateTable('user').set({ is_active: isActive }).where('user_id', '=', userId).execute()
  if (!isActive) {
    await endSessions(context, userId)
    await endUserTokens(context, userId)
    await voidMailedTokens(tx, 'PasswordReset', userId)
  }
  await events.emit('users_SetIsActive', { userId, isActive }, { old: { isActive: !isActive } })
  for (const organizationId of await organizationIdsOf(tx, userId)) changed('members', { organizationId })
  return {}
})

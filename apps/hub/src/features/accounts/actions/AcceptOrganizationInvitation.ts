import { ActionError } from '@muster/actions'
import { requirePerson } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isOpen, lockMembers } from '../../organizations/index.ts'

/**
 * Makes the invited person a member and deletes the invitation. An existing membership keeps its role. Throws `Invalid` (409) for an
 * invitation that has ended.
 */
export const users_AcceptOrganizationInvitation = handler(
  'users_AcceptOrganizationInvitation',
  async ({ tx, events, caller, scope, changed }, { invitationId }) => {
    const { userId } = requirePerson(caller)
    await lockMembers(tx, scope.organizationId!)
    // A second, concurrent acceptance finds no row and is refused.
    const { organization_id: organizationId, isOpen: hasNotEnded } = await tx
      .deleteFrom('organization_invitation as i')
      .where('i.invitation_id', '=', invitationId)
      .returning(['i.organization_id', isOpen.as('isOpen')])
      .executeTakeFirstOrThrow()
    if (!hasNotEnded)
      throw new ActionError('Invalid', 'This invitation has ended: ask for it to be sent again.', {
        status: 409,
      })
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId })
      .onConflict(conflict => conflict.doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 1n)
      await events.emit('organizations_MemberAdded', { organizationId, userId, isAdmin: false })
    changed('organizations', {}, [userId])
    changed('invitations', {}, [userId])
    changed('members')
    return {}
  },
)

import { ActionError } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isInvitationTo } from '../invitations.ts'
import { lockMembers } from '../organization-members.ts'

/**
 * Adds an account to an organization without an invitation and deletes an open invitation to its email address. Throws `Invalid`
 * for an absent account (404) and for an existing member (409).
 */
export const organizations_AddMember = handler(
  'organizations_AddMember',
  async ({ tx, events, changed }, { organizationId, userId, isAdmin = false }) => {
    await lockMembers(tx, organizationId)
    const user = await tx
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select(['user_id', 'email'])
      .executeTakeFirst()
    if (!user) throw new ActionError('Invalid', `userId: there is no account ${userId}.`, { status: 404 })
    const added = await tx
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId, is_admin: isAdmin })
      .onConflict(conflict => conflict.doNothing())
      .returning('user_id')
      .executeTakeFirst()
    if (!added)
      throw new ActionError('Invalid', 'This person is already a member of the organization.', {
        status: 409,
      })
    // If the invitation stayed open, the person could join again after being removed as a member.
    await tx
      .deleteFrom('organization_invitation as i')
      .where('i.organization_id', '=', organizationId)
      .where(isInvitationTo(user.email))
      .execute()
    await events.emit('organizations_MemberAdded', { organizationId, userId, isAdmin })
    changed('invitations', { organizationId }, [userId])
    changed('members', { organizationId })
    changed('organizations', { organizationId }, [userId])
    return {}
  },
)

import { handler } from '../../../platform/pipeline/handler.ts'
import { isAdminOfMember, lockMembers, requireAnotherAdmin } from '../organization-members.ts'

/** Removes a member. Throws `Invalid` for a person who is no member (404) and for the last administrator (409). */
export const organizations_RemoveMember = handler(
  'organizations_RemoveMember',
  async ({ tx, events, services, changed, afterCommit }, { organizationId, userId }) => {
    await lockMembers(tx, organizationId)
    const isAdmin = await isAdminOfMember(tx, organizationId, userId)
    if (isAdmin) await requireAnotherAdmin(tx, organizationId, userId)
    const { display_name: displayName, email } = await tx
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select(['display_name', 'email'])
      .executeTakeFirstOrThrow()
    await tx
      .deleteFrom('organization_member')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .execute()
    await events.emit(
      'organizations_MemberRemoved',
      { organizationId, userId },
      { old: { name: displayName || email, email, isAdmin } },
    )
    changed('members')
    // Notifies the removed person too: their console drops the organization, and their live stream unsubscribes from it.
    changed('organizations', {}, [userId])
    afterCommit(() => services.rights.announce({ userId }))
    return {}
  },
)

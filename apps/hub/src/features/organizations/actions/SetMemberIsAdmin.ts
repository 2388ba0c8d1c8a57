import { handler } from '../../../platform/pipeline/handler.ts'
import { isAdminOfMember, lockMembers, requireAnotherAdmin } from '../organization-members.ts'

/** Sets the role of a member. Throws `Invalid` for a person who is no member (404) and for demoting the last administrator (409). */
export const organizations_SetMemberIsAdmin = handler(
  'organizations_SetMemberIsAdmin',
  async ({ tx, events, services, changed, afterCommit }, { organizationId, userId, isAdmin }) => {
    await lockMembers(tx, organizationId)
    if ((await isAdminOfMember(tx, organizationId, userId)) === isAdmin) return {}
    if (!isAdmin) await requireAnotherAdmin(tx, organizationId, userId)
    await tx
      .updateTable('organization_member')
      .set({ is_admin: isAdmin })
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .execute()
    await events.emit(
      'organizations_MemberAdminStatusChanged',
      { organizationId, userId, isAdmin },
      { old: { isAdmin: !isAdmin } },
    )
    changed('members')
    afterCommit(() => services.rights.announce({ userId }))
    return {}
  },
)

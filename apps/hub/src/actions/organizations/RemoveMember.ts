import {
  isAdminOfMember,
  lockMembers,
  requireAnotherAdmin,
} from '../../database/queries/organizations/organization-members.ts'
import { handler } from '../../handler.ts'

export const organizations_RemoveMember = handler(
  'organizations_RemoveMember',
  async ({ tx, events, changed }, { organizationId, userId }) => {
    await lockMembers(tx, organizationId)
    if (await isAdminOfMember(tx, organizationId, userId))
      await requireAnotherAdmin(tx, organizationId, userId)
    await tx
      .deleteFrom('organization_member')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .execute()
    await events.emit('organizations_MemberRemoved', { organizationId, userId })
    changed('members')
    // Whoever is removed hears it as well: their console forgets the organization, and their live stream leaves it.
    changed('organizations', {}, [userId])
    return {}
  },
)

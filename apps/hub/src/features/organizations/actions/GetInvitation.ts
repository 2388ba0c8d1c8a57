import { handler } from '../../../platform/pipeline/handler.ts'
import { isOpen } from '../invitations.ts'

/** Finds the invited address and the organization of an invitation link, so that the sign-up page can fill in the address. */
export const organizations_GetInvitation = handler(
  'organizations_GetInvitation',
  async ({ db }, { linkId }) => {
    const invitation = await db
      .selectFrom('organization_invitation as i')
      .innerJoin('organization as o', 'o.organization_id', 'i.organization_id')
      .where('i.link_id', '=', linkId)
      .where(isOpen)
      .select(['i.email', 'o.name as organizationName'])
      .executeTakeFirst()
    return invitation ? { result: 'Found' as const, ...invitation } : { result: 'NotFound' as const }
  },
)

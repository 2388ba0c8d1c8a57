import { sql } from 'kysely'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isInvitationTo, isOpen } from '../../organizations/index.ts'
import { emailOf } from '../accounts.ts'

/** Lists the open invitations to the email address of an account. */
export const users_QueryOrganizationInvitations = handler(
  'users_QueryOrganizationInvitations',
  async ({ db }, { userId, filter: _, ...page }) => {
    const email = (await emailOf(db, userId)) ?? ''
    const query = db
      .selectFrom('organization_invitation as i')
      .innerJoin('organization as o', 'o.organization_id', 'i.organization_id')
      .where(isInvitationTo(email))
      .where(isOpen)
      .select(['i.invitation_id', 'o.organization_id', 'o.name'])
    const sorts = { createdAt: { by: sql`i.created_at`, type: 'timestamptz' } } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`i.invitation_id`, '-createdAt')
    return {
      invitations: rows.map(row => ({
        invitationId: row.invitation_id,
        organization: { organizationId: row.organization_id, name: row.name },
      })),
      ...rest,
    }
  },
)

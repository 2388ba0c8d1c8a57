import { sql } from 'kysely'
import { matchesText, queryPage } from '../../database/client/page.ts'
import { handler } from '../../handler.ts'

/** Lists the open invitations of an organization, newest first. */
export const organizations_QueryInvitations = handler(
  'organizations_QueryInvitations',
  async ({ db }, { organizationId, filter, ...page }) => {
    const query = db
      .selectFrom('organization_invitation as i')
      .where('i.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`i.email`, sql`i.invitation_id`))
      .select(['i.invitation_id', 'i.email', 'i.inviting_user_id'])
    const sorts = {
      createdAt: { by: sql`i.created_at`, type: 'timestamptz' },
      email: { by: sql`i.email`, type: 'text' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`i.invitation_id`, '-createdAt')
    return {
      invitations: rows.map(row => ({
        invitationId: row.invitation_id,
        email: row.email,
        invitingUserId: row.inviting_user_id ?? undefined,
      })),
      ...rest,
    }
  },
)

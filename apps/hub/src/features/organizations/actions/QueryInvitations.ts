import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { matchesEmail } from '../../accounts/index.ts'
import { invitationLink, mailState } from '../invitations.ts'

/** Lists the open invitations of an organization, newest first. */
export const organizations_QueryInvitations = handler(
  'organizations_QueryInvitations',
  async ({ db, services }, { organizationId, filter, ...page }) => {
    const query = db
      .selectFrom('organization_invitation as i')
      .leftJoin('user as u', 'u.user_id', 'i.inviting_user_id')
      .where('i.organization_id', '=', organizationId)
      .where(
        sql<boolean>`(${matchesEmail(filter?.text, sql`i.email`)} or ${matchesText(filter?.text, sql`i.invitation_id`)})`,
      )
      .select([
        'i.invitation_id',
        'i.email',
        'i.inviting_user_id',
        sql<string | null>`coalesce(u.display_name, u.email)`.as('inviting_name'),
        'i.created_at',
        'i.expires_at',
        'i.link_id',
        mailState.as('mail_state'),
        'i.mail_reason',
      ])
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
        invitingName: row.inviting_name ?? undefined,
        createdAt: wireTime(row.created_at),
        endsAt: row.expires_at ? wireTime(row.expires_at) : undefined,
        link: invitationLink(services.proxy.publicUrl, row.link_id),
        mail: row.mail_state ? { state: row.mail_state, reason: row.mail_reason ?? undefined } : undefined,
      })),
      ...rest,
    }
  },
)

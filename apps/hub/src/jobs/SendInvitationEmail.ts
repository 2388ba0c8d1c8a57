import { sql } from 'kysely'
import { invitationMail } from '../mail/invitation.ts'
import { jobHandler } from './job-handler.ts'
import { sendMail } from './send-mail.ts'

/** Mails an invitation to an organization. */
export const organizations_SendInvitationEmail = jobHandler(
  'organizations_SendInvitationEmail',
  async (context, { invitationId }, job) => {
    const { db, publicUrl, signup } = context
    const invitation = await db
      .selectFrom('organization_invitation as i')
      .innerJoin('organization as o', 'o.organization_id', 'i.organization_id')
      .leftJoin('user as inviter', 'inviter.user_id', 'i.inviting_user_id')
      .where('i.invitation_id', '=', invitationId)
      .select(({ exists, selectFrom }) => [
        'i.organization_id as organizationId',
        'i.email',
        'o.name as organizationName',
        sql<string | null>`coalesce(inviter.display_name, inviter.email)`.as('inviterName'),
        exists(
          selectFrom('user as u')
            .where(sql`lower(u.email)`, '=', sql`lower(i.email)`)
            .where('u.is_active', '=', true)
            .select('u.user_id'),
        )
          .$castTo<boolean>()
          .as('hasAccount'),
      ])
      .executeTakeFirst()
    // An invitation that was accepted or withdrawn after this job was queued needs no mail.
    if (!invitation) return
    const { organizationId, email, inviterName } = invitation
    const mail = invitationMail({
      ...invitation,
      inviterName: inviterName ?? undefined,
      maySignUp: signup !== 'closed',
      publicUrl,
    })
    const data = { organizationId, invitationId, email }
    await sendMail(context, mail, job, 'organizations_InvitationEmailSent', data)
  },
)

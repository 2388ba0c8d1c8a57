import { sql } from 'kysely'
import { defineJob } from '../../../platform/jobs/define-job.ts'
import { PermanentFailure } from '../../../platform/jobs/queue.ts'
import { MAIL, sendMail } from '../../../platform/mail/send-mail.ts'
import { isAccountOf } from '../../accounts/index.ts'
import { invitationMail } from '../invitation-mail.ts'
import { invitationLink, isOpen } from '../invitations.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    organizations_SendInvitationEmail: { invitationId: string }
  }
}

/** Mails an invitation to an organization and stores the state of the mail. */
export const organizations_SendInvitationEmail = defineJob({
  name: 'organizations_SendInvitationEmail',
  policy: MAIL,
  run: async (context, { invitationId }, job) => {
    const { db, publicUrl, signup } = context
    const invitation = await db
      .selectFrom('organization_invitation as i')
      .innerJoin('organization as o', 'o.organization_id', 'i.organization_id')
      .leftJoin('user as inviter', 'inviter.user_id', 'i.inviting_user_id')
      .where('i.invitation_id', '=', invitationId)
      .where(isOpen)
      .select([
        'i.organization_id as organizationId',
        'i.email',
        'i.link_id as linkId',
        'i.expires_at as expiresAt',
        'i.mail_state as mailState',
        'o.name as organizationName',
        sql<string | null>`coalesce(inviter.display_name, inviter.email)`.as('inviterName'),
      ])
      .executeTakeFirst()
    // An invitation that has ended, or was accepted or withdrawn after this job was queued, needs no mail. The same is true if another job
    // has mailed it. An administrator may queue such a job while this job waits for its next attempt.
    if (!invitation || invitation.mailState === 'Sent') return
    const { organizationId, email, inviterName } = invitation
    const account = await db
      .selectFrom('user')
      .where(isAccountOf(email))
      .where('is_active', '=', true)
      .select('user_id')
      .executeTakeFirst()
    const mail = invitationMail({
      ...invitation,
      hasAccount: account !== undefined,
      inviterName: inviterName ?? undefined,
      maySignUp: signup !== 'closed',
      link: invitationLink(publicUrl, invitation.linkId),
      publicUrl,
    })
    const data = { organizationId, invitationId, email }
    const store = (mail_state: 'Sending' | 'Sent' | 'NotSent', mail_reason: string | null) =>
      db
        .updateTable('organization_invitation')
        .set({ mail_state, mail_reason })
        .where('invitation_id', '=', invitationId)
        // If the invitation has got a new link and another mail since, the state of this mail is not stored.
        .where('link_id', '=', invitation.linkId)
        .execute()
    try {
      await sendMail(context, mail, job, 'organizations_InvitationEmailSent', data)
    } catch (error) {
      if (error instanceof PermanentFailure) await store('NotSent', refusalOf(error))
      else await store('Sending', 'The mail server did not take it. The hub tries again for up to an hour.')
      throw error
    }
    await store('Sent', null)
  },
})

/** Maximum length, in characters, of the stored reason why a mail was not sent. A mail server may answer with a page of text. */
const MAX_REASON_LENGTH = 200

/** The answer of the mail server if there is one, else the error. */
function refusalOf({ message, cause }: PermanentFailure): string {
  const { response } = ((cause as Error | undefined)?.cause ?? {}) as { response?: string }
  return `The mail server refused it: ${response ?? message}`.slice(0, MAX_REASON_LENGTH)
}

import { defineJob } from '../../../platform/jobs/define-job.ts'
import { mailOf } from '../../../platform/mail/mail-template.ts'
import { MAIL, sendMail } from '../../../platform/mail/send-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    webhooks_SendOffEmail: { webhookId: string; userId: string }
  }
}

const REASONS: Record<string, string> = {
  Gone: 'Its receiver answered 410: it wants no more messages.',
  NoSuccess: 'Its receiver has not taken a message for five days.',
}

/** Mails an administrator of an organization that a webhook was turned off. */
export const webhooks_SendOffEmail = defineJob({
  name: 'webhooks_SendOffEmail',
  policy: MAIL,
  run: async (context, { webhookId, userId }, job) => {
    const { db, publicUrl } = context
    const found = await db
      .selectFrom('webhook as w')
      .innerJoin('organization as o', 'o.organization_id', 'w.organization_id')
      .innerJoin('organization_member as m', 'm.organization_id', 'w.organization_id')
      .innerJoin('user as u', 'u.user_id', 'm.user_id')
      .where('w.webhook_id', '=', webhookId)
      .where('u.user_id', '=', userId)
      .where('m.is_admin', '=', true)
      .where('u.is_active', '=', true)
      .where('w.is_enabled', '=', false)
      .select([
        'w.name',
        'w.off_reason',
        'w.shown_address',
        'o.name as organizationName',
        'o.organization_id as organizationId',
        'u.email',
      ])
      .executeTakeFirst()
    // A webhook that was deleted or turned on since, or a person who administers the organization no more, needs no mail.
    if (!found) return
    const { organizationId, organizationName, name, email } = found
    const mail = mailOf({
      to: { address: email },
      subject: `Webhook ${name} was turned off`,
      opening: `The webhook “${name}” of the organization “${organizationName}” was turned off. ${REASONS[found.off_reason ?? ''] ?? ''}`,
      button: { label: 'View the organization', link: `${publicUrl}/${organizationId}/settings` },
      about: `It sent to ${found.shown_address}. Messages that waited are kept for 30 days, and sent when somebody turns it on.`,
      otherwise: 'If the receiver is gone for good, delete the webhook.',
      publicUrl,
    })
    await sendMail(context, mail, job, 'webhooks_OffEmailSent', { organizationId, webhookId, userId })
  },
})

import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendMail } from '../../../platform/mail/send-mail.ts'
import { type EmailChanger, emailChangedMail } from '../email-changed-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendEmailChangedEmail: { userId: string; oldEmail: string; by: EmailChanger; changedAt: string }
  }
}

/** Mails the old address of an account that the account has another one. */
export const users_SendEmailChangedEmail = defineJob({
  name: 'users_SendEmailChangedEmail',
  // The mail warns of a change that has just been made. Days later it would alarm its reader without a cause.
  policy: { ...MAIL, isRepeatable: false },
  run: async (context, { userId, oldEmail, by, changedAt }, job) => {
    const { db, publicUrl } = context
    const user = await db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select(['email', 'display_name as displayName'])
      .executeTakeFirst()
    // An account that was deleted after this job was queued needs no mail.
    if (!user) return
    const mail = emailChangedMail({ ...user, oldEmail, by, changedAt: new Date(changedAt), publicUrl })
    await sendMail(context, mail, job, 'users_EmailChangedEmailSent', { userId, email: oldEmail })
  },
})

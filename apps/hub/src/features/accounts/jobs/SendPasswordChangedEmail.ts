import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendMail } from '../../../platform/mail/send-mail.ts'
import { type PasswordChanger, passwordChangedMail } from '../password-changed-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendPasswordChangedEmail: { userId: string; by: PasswordChanger; changedAt: string }
  }
}

/** Mails the owner of an account that its password was changed. */
export const users_SendPasswordChangedEmail = defineJob({
  name: 'users_SendPasswordChangedEmail',
  // The mail warns of a change that has just been made. Days later it would alarm its reader without a cause.
  policy: { ...MAIL, isRepeatable: false },
  run: async (context, { userId, by, changedAt }, job) => {
    const { db, publicUrl } = context
    const user = await db
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select(['email', 'display_name as displayName'])
      .executeTakeFirst()
    // An account that was deleted after this job was queued needs no mail.
    if (!user) return
    const mail = passwordChangedMail({ ...user, by, changedAt: new Date(changedAt), publicUrl })
    await sendMail(context, mail, job, 'users_PasswordChangedEmailSent', { userId, email: user.email })
  },
})

import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { sendMail } from '../../../platform/mail/send-mail.ts'
import { passwordChangedMail } from '../password-changed-mail.ts'

/** Mails the owner of an account that its password was changed. */
export const users_SendPasswordChangedEmail = jobHandler(
  'users_SendPasswordChangedEmail',
  async (context, { userId, by, changedAt }, job) => {
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
)

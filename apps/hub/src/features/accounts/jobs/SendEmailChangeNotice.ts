import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendMail } from '../../../platform/mail/send-mail.ts'
import { emailChangeNotice } from '../email-change-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendEmailChangeNotice: { jwtId: string }
  }
}

/** Mails the present address of an account that a change of the address was asked for. */
export const users_SendEmailChangeNotice = defineJob({
  name: 'users_SendEmailChangeNotice',
  // The notice warns of a link that works for an hour. Later it would alarm its reader without a cause.
  policy: { ...MAIL, isRepeatable: false },
  run: async (context, { jwtId }, job) => {
    const { db, publicUrl } = context
    const account = await db
      .selectFrom('mailed_token as t')
      .innerJoin('user as u', 'u.user_id', 't.user_id')
      .where('t.jwt_id', '=', jwtId)
      .where('t.used_at', 'is', null)
      .select(['u.user_id as userId', 'u.email', 'u.display_name as displayName', 't.new_email as newEmail'])
      .executeTakeFirst()
    // A link that was used, or is void since, changes nothing any more. A changed address is reported by a mail of its own.
    if (!account?.newEmail) return
    const { userId, email, displayName, newEmail } = account
    const mail = emailChangeNotice({ email, displayName, newEmail, publicUrl })
    await sendMail(context, mail, job, 'users_EmailChangeNoticeSent', { userId, email })
  },
})

import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendLink } from '../../../platform/mail/send-mail.ts'
import { passwordMail } from '../password-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendPasswordEmail: { jwtId: string }
  }
}

/** Mails a link that sets the password of an account. */
export const users_SendPasswordEmail = defineJob({
  name: 'users_SendPasswordEmail',
  policy: MAIL,
  run: (context, { jwtId }, job) =>
    sendLink(context, jwtId, job, {
      purpose: 'PasswordReset',
      mailOf: passwordMail,
      event: 'users_PasswordResetEmailSent',
    }),
})

import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { sendLink } from '../../../platform/mail/send-mail.ts'
import { passwordMail } from '../password-mail.ts'

/** Mails a link that sets the password of an account. */
export const users_SendPasswordEmail = jobHandler('users_SendPasswordEmail', (context, { jwtId }, job) =>
  sendLink(context, jwtId, job, {
    purpose: 'PasswordReset',
    mailOf: passwordMail,
    event: 'users_PasswordResetEmailSent',
  }),
)

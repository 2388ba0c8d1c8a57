import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendLink } from '../../../platform/mail/send-mail.ts'
import { emailChangeMail } from '../email-change-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendEmailChangeEmail: { jwtId: string }
  }
}

/** Mails a link to the new address of an account, which changes the address. */
export const users_SendEmailChangeEmail = defineJob({
  name: 'users_SendEmailChangeEmail',
  policy: MAIL,
  run: (context, { jwtId }, job) =>
    sendLink(context, jwtId, job, {
      purpose: 'EmailChange',
      mailOf: emailChangeMail,
      event: 'users_EmailChangeEmailSent',
    }),
})

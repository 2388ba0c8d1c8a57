import { defineJob } from '../../../platform/jobs/define-job.ts'
import { MAIL, sendLink } from '../../../platform/mail/send-mail.ts'
import { activationMail } from '../activation-mail.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    users_SendRegistrationEmail: { jwtId: string }
  }
}

/** Mails a link that activates a new account. */
export const users_SendRegistrationEmail = defineJob({
  name: 'users_SendRegistrationEmail',
  policy: MAIL,
  run: (context, { jwtId }, job) =>
    sendLink(context, jwtId, job, {
      purpose: 'Activation',
      mailOf: activationMail,
      event: 'users_RegistrationEmailSent',
    }),
})

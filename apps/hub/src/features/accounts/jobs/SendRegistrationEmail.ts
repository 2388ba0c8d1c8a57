import { jobHandler } from '../../../platform/jobs/job-handler.ts'
import { sendLink } from '../../../platform/mail/send-mail.ts'
import { activationMail } from '../activation-mail.ts'

/** Mails a link that activates a new account. */
export const users_SendRegistrationEmail = jobHandler(
  'users_SendRegistrationEmail',
  (context, { jwtId }, job) =>
    sendLink(context, jwtId, job, {
      purpose: 'Activation',
      mailOf: activationMail,
      event: 'users_RegistrationEmailSent',
    }),
)

import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

type Activation = { email: string; jwt: string; expiresAt: Date; publicUrl: string }

/**
 * Mail with the link that activates a new account. The mail omits the name given at sign-up. Otherwise a person who signs
 * up with another person's address could choose text that the hub mails to that other person.
 */
export function activationMail({ email, jwt, expiresAt, publicUrl }: Activation): Mail {
  return mailOf({
    to: { address: email },
    subject: 'Activate your account',
    opening: `Somebody signed up at ${publicUrl} with this address. If it was you, activate your account.`,
    button: {
      label: 'Activate account',
      link: `${publicUrl}/signup/verify?jwt=${encodeURIComponent(jwt)}`,
    },
    about: `The link works once, until ${readableTime(expiresAt)}.`,
    otherwise: 'If you did not sign up, you need not do anything: without the link no account comes of it.',
    publicUrl,
  })
}

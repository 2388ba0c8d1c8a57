import { mailOf, readableTime } from './letter.ts'
import type { Mail } from './mailer.ts'

type Activation = { email: string; jwt: string; expiresAt: Date; publicUrl: string }

/**
 * The mail to somebody who signed up. It does not say the name that was given: whoever signs up with the address of others must
 * not choose what the hub writes to them.
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

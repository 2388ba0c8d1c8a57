import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

type EmailChange = {
  /** The new address, to which the mail goes. */
  email: string
  jwt: string
  expiresAt: Date
  publicUrl: string
}

/**
 * Mail with the link that makes its recipient the address of an account. It omits the name of the account: a person who enters the address
 * of somebody else could otherwise choose text that the hub mails to them.
 */
export function emailChangeMail({ email, jwt, expiresAt, publicUrl }: EmailChange): Mail {
  return mailOf({
    to: { address: email },
    subject: 'Confirm your new address',
    opening: `Somebody asked to use this address for their account at ${publicUrl}. If it was you, confirm it.`,
    button: { label: 'Confirm address', link: `${publicUrl}/confirm-email?jwt=${encodeURIComponent(jwt)}` },
    about: `The link works once, until ${readableTime(expiresAt)}.`,
    otherwise:
      'If you did not ask for it, you need not do anything: without the link the address stays as it is.',
    publicUrl,
  })
}

type EmailChangeNotice = {
  /** The present address of the account, to which the mail goes. */
  email: string
  displayName: string | null
  newEmail: string
  publicUrl: string
}

/** Mail that tells the present address of an account that somebody who is signed in asked for another one. */
export function emailChangeNotice({ email, displayName, newEmail, publicUrl }: EmailChangeNotice): Mail {
  return mailOf({
    to: { address: email, ...(displayName !== null && { name: displayName }) },
    subject: 'A new address for your account',
    opening: `Somebody who knows the password of your account at ${publicUrl} asked to change its address to ${newEmail}. The change waits until that address is confirmed.`,
    button: { label: 'Open security settings', link: `${publicUrl}/settings/security` },
    about: 'If it was you, open the link that was mailed to the new address.',
    otherwise:
      'If it was not you, set another password: then the address can no longer be confirmed, and other browsers are signed out.',
    publicUrl,
  })
}

import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

type SetPassword = {
  email: string
  displayName: string | null
  /** False for an account that an administrator created, until its first password is set. */
  hasPassword: boolean
  jwt: string
  expiresAt: Date
  publicUrl: string
}

/** Mail with the link that sets the first password of an account or resets it. */
export function passwordMail(account: SetPassword): Mail {
  const { email, displayName, hasPassword, jwt, expiresAt, publicUrl } = account
  return mailOf({
    to: { address: email, ...(displayName !== null && { name: displayName }) },
    subject: hasPassword ? 'Reset your password' : 'Set the password of your new account',
    opening: hasPassword
      ? `Somebody asked to reset the password of your account at ${publicUrl}. If it was you, set another one.`
      : `An account for you was made at ${publicUrl}. Set a password to sign in with this address.`,
    button: { label: 'Set password', link: `${publicUrl}/set-password?jwt=${encodeURIComponent(jwt)}` },
    about: `The link works once, until ${readableTime(expiresAt)}.`,
    otherwise: hasPassword
      ? 'If you did not ask for it, you need not do anything: your password stays as it is.'
      : 'If you did not expect this, you need not do anything: without a password nobody can sign in.',
    publicUrl,
  })
}

import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

/** Kind of address change: with the link that was mailed to the new address, or by an administrator of the instance. */
export type EmailChanger = 'link' | 'administrator'

type EmailChanged = {
  /** The old address, to which the mail goes. */
  oldEmail: string
  displayName: string | null
  /** The present address of the account. */
  email: string
  by: EmailChanger
  changedAt: Date
  publicUrl: string
}

const BY: Record<EmailChanger, string> = {
  link: 'with a link that was mailed to the new address',
  administrator: 'by an administrator of the hub',
}

/** Mail that tells the old address of an account that the account has another one, so that its owner notices a change by another person. */
export function emailChangedMail({
  oldEmail,
  displayName,
  email,
  by,
  changedAt,
  publicUrl,
}: EmailChanged): Mail {
  return mailOf({
    to: { address: oldEmail, ...(displayName !== null && { name: displayName }) },
    subject: 'The address of your account was changed',
    opening: `The address of your account at ${publicUrl} was changed to ${email} on ${readableTime(changedAt)}, ${BY[by]}.`,
    button: { label: 'Open your profile', link: `${publicUrl}/settings/profile` },
    about: 'From now on you sign in with the new address, and mails go there.',
    otherwise:
      'If you did not expect this, ask an administrator of the hub to disable your account and to set its address back.',
    publicUrl,
  })
}

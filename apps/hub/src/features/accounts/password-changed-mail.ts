import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

/** Kind of password change: by a person signed in to the account, by an administrator of the instance, or with a mailed link. */
export type PasswordChanger = 'owner' | 'administrator' | 'link'

type PasswordChanged = {
  email: string
  displayName: string | null
  by: PasswordChanger
  changedAt: Date
  publicUrl: string
}

const BY: Record<PasswordChanger, string> = {
  owner: 'by somebody who was signed in to it',
  administrator: 'by an administrator of the hub',
  link: 'with a link that was mailed to this address',
}

/** Mail that notifies the owner of an account of a changed password, so that the owner notices a change by another person. */
export function passwordChangedMail({ email, displayName, by, changedAt, publicUrl }: PasswordChanged): Mail {
  return mailOf({
    to: { address: email, ...(displayName !== null && { name: displayName }) },
    subject: 'Your password was changed',
    opening: `The password of your account at ${publicUrl} was changed on ${readableTime(changedAt)}, ${BY[by]}.`,
    button: { label: 'Open security settings', link: `${publicUrl}/settings/security` },
    about: 'Browsers that were signed in to your account need the new password.',
    otherwise:
      'If you did not expect this, ask an administrator of the hub to disable your account and to mail you a link to set another password.',
    publicUrl,
  })
}

import { mailOf, readableTime } from '../../platform/mail/mail-template.ts'
import type { Mail } from '../../platform/mail/mailer.ts'

type Invitation = {
  email: string
  organizationName: string
  /** Name of the inviting person; undefined if that account was deleted. */
  inviterName: string | undefined
  hasAccount: boolean
  /** True if the hub accepts sign-ups of invited people. */
  maySignUp: boolean
  /** Link to the sign-up page with the invited address. */
  link: string
  /** End of the invitation; null if it does not end. */
  expiresAt: Date | null
  publicUrl: string
}

/** Mail that invites a person to an organization. */
export function invitationMail(invitation: Invitation): Mail {
  const { email, organizationName, inviterName, hasAccount, maySignUp, link, expiresAt, publicUrl } =
    invitation
  const invited = inviterName === undefined ? 'You are invited' : `${inviterName} invites you`
  const opening = `${invited} to the organization “${organizationName}” at ${publicUrl}.`
  return mailOf({
    to: { address: email },
    subject: `Invitation to ${organizationName}`,
    opening: `${opening} ${nextStep(hasAccount, maySignUp)}`,
    button:
      !hasAccount && maySignUp
        ? { label: 'Sign up', link }
        : { label: 'View invitation', link: `${publicUrl}/user/invitations` },
    about: `The invitation stands until ${expiresAt ? readableTime(expiresAt) : 'you accept it'}, unless somebody of the organization withdraws it.`,
    otherwise: 'If you do not want to join, you need not do anything.',
    publicUrl,
  })
}

function nextStep(hasAccount: boolean, maySignUp: boolean): string {
  if (hasAccount) return 'Accept the invitation to join it.'
  return maySignUp
    ? 'To join it, sign up with this address and accept the invitation under Invitations.'
    : 'To join it you need an account with this address, which the administrators of the hub make.'
}

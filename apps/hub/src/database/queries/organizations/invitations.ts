import { type RawBuilder, sql } from 'kysely'

/** Time from the mail of an invitation to its end, in seconds: 7 days. */
const LIFE_SECS = 7 * 24 * 60 * 60
/**
 * Time after which a mail counts as not sent, in seconds. The attempts of its job have ended by then: their deadlines and the pauses
 * between them add up to at most 75 min.
 */
const GIVEN_UP_SECS = 2 * 60 * 60

/** Columns of an invitation whose mail is being queued. */
export const queuedMail = {
  expires_at: sql<Date>`now() + make_interval(secs => ${LIFE_SECS})`,
  mail_state: 'Sending',
  mail_reason: null,
  mail_queued_at: sql<Date>`now()`,
}

/** Condition that the invitation `i` has not ended. */
export const isOpen = sql<boolean>`(i.expires_at is null or i.expires_at > now())`

/** Link of an invitation. It gives no right: it opens the sign-up page with the invited address filled in. */
export function invitationLink(publicUrl: string, linkId: string): string {
  return `${publicUrl}/signup/?invitation=${linkId}`
}

/** SQL for the state of the mail of the invitation `i`; null where it is not known. */
export const mailState: RawBuilder<'Sending' | 'Sent' | 'NotSent' | null> = sql`
  case when i.mail_state = 'Sending' and i.mail_queued_at < now() - make_interval(secs => ${GIVEN_UP_SECS}) then 'NotSent'
       else i.mail_state end`

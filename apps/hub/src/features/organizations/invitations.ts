import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { JobContext } from '../../platform/jobs/define-job.ts'
import { canonicalEmail, foldAscii, readEmail } from '../../platform/pipeline/email-address.ts'

/** Time from the mail of an invitation to its end, in seconds: 7 days. */
const LIFE_SECS = 7 * 24 * 60 * 60
/**
 * Time after which a mail counts as not sent, in seconds. It is longer than all attempts of the mail's job: their deadlines and the pauses
 * between them add up to at most 75 min.
 */
const GIVEN_UP_SECS = 2 * 60 * 60

/** Maximum number of times that invitations are mailed again to an address within 24 hours, over all organizations. */
const MAX_RESENDS_A_DAY = 3

/** Removes counts of mails whose 24 hours have passed. */
export async function removeOldMailCounts({ db }: JobContext): Promise<void> {
  await sql`delete from invitation_mail where now() - interval '1 day' >= all (queued_at)`.execute(db)
}

/**
 * Counts a mail to an address and resolves to undefined. If the address has got too many mails within 24 hours, nothing is counted, and
 * the result has the error message and the time until the next mail is possible. These are three mails, and a fourth if the first mail of
 * the invitation is one of them (`isFirstOfDay`).
 */
export async function countMail(
  tx: Tx,
  email: string,
  isFirstOfDay: boolean,
): Promise<{ reason: string; retryAfterSecs: number } | undefined> {
  const most = MAX_RESENDS_A_DAY + (isFirstOfDay ? 1 : 0)
  const address = canonicalEmail(email) ?? foldAscii(email)
  const recent = sql`array(select at from unnest(m.queued_at) at where at > now() - interval '1 day')`
  const { rows } = await sql`
    insert into invitation_mail as m (email, queued_at) values (${address}, array[now()])
    on conflict (email) do update set queued_at = ${recent} || now()
     where cardinality(${recent}) < ${most}
    returning 1`.execute(tx)
  if (rows.length > 0) return undefined
  const {
    rows: [wait],
  } = await sql<{ secs: number; count: number }>`
    select greatest(1, ceil(extract(epoch from (array_agg(at order by at desc))[${MAX_RESENDS_A_DAY}::integer] + interval '1 day' - now())))::integer
             as secs, count(*) as count
      from invitation_mail m, unnest(${recent}) at where m.email = ${address}`.execute(tx)
  const retryAfterSecs = wait!.secs
  const reason = `Found ${wait!.count} invitations mailed to ${email} within 24 hours, expected at most ${most}: send it again ${inWords(retryAfterSecs)}, or copy the link.`
  return { reason, retryAfterSecs }
}

function inWords(secs: number): string {
  const hours = Math.ceil(secs / 3600)
  return hours > 1 ? `in ${hours} hours` : 'within the hour'
}

/** Column values that an invitation gets when its mail is queued. */
export const queuedMail = {
  expires_at: sql<Date>`now() + make_interval(secs => ${LIFE_SECS})`,
  mail_state: 'Sending',
  mail_reason: null,
  mail_queued_at: sql<Date>`now()`,
}

/**
 * SQL condition that the invitation `i` is for this email address, in any of its spellings. Letters beyond ASCII are compared as they are,
 * whatever the collation of the database is. An address that is not stable is invited by its text only.
 */
export function isInvitationTo(email: string): RawBuilder<boolean> {
  const found = readEmail(email)
  const address = sql`lower(i.email collate "C")`
  return 'canonical' in found
    ? sql<boolean>`${address} = any(${found.spellings})`
    : sql<boolean>`(${address} = ${foldAscii(email)} and i.email = ${email})`
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

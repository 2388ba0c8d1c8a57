import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { hasEmail } from '../../database/queries/accounts/accounts.ts'
import { queuedMail } from '../../database/queries/organizations/invitations.ts'
import { lockMembers } from '../../database/queries/organizations/organization-members.ts'
import { handler } from '../../handler.ts'

/** Maximum number of times that an invitation is sent again within 24 hours. */
const MAX_A_DAY = 3
/** Time, in seconds, in which a second call sends no second mail: two administrators may click at once. */
const SAME_CALL_SECS = 30

type Sent = { email: string; times: number; secs_ago: number | null; wait_secs: number | null }

/**
 * Mails an invitation again with a new link. The former link becomes invalid, and the expiry starts anew. Throws `RateLimited`
 * after `MAX_A_DAY` mails, and `Invalid` (409) for an invitation that has just been accepted or withdrawn.
 */
export const organizations_ResendInvitation = handler(
  'organizations_ResendInvitation',
  async ({ tx, events, scope, changed, enqueue }, { invitationId }) => {
    const organizationId = scope.organizationId!
    await lockMembers(tx, organizationId)
    const {
      rows: [sent],
    } = await sql<Sent>`
      select i.email, r.times, r.secs_ago, r.wait_secs from organization_invitation i, lateral (
        select count(*) as times, extract(epoch from now() - max(at))::float8 as secs_ago,
               ceil(extract(epoch from min(at) + interval '1 day' - now()))::integer as wait_secs
          from unnest(i.resent_at) at where at > now() - interval '1 day') r
       where i.invitation_id = ${invitationId}`.execute(tx)
    if (!sent)
      throw new ActionError('Invalid', 'The invitation has just been accepted or withdrawn.', { status: 409 })
    const { email, times, secs_ago: secsAgo, wait_secs: waitSecs } = sent
    if (secsAgo !== null && secsAgo < SAME_CALL_SECS) return {}
    if (times >= MAX_A_DAY)
      throw new ActionError(
        'RateLimited',
        `Found ${times} mails to ${email} within 24 hours, expected at most ${MAX_A_DAY}: try again ${inWords(waitSecs!)}, or copy the link.`,
        { retryAfterSecs: Math.max(1, waitSecs!) },
      )
    await tx
      .updateTable('organization_invitation as i')
      .set({
        ...queuedMail,
        link_id: sql<string>`gen_random_uuid()::text`,
        resent_at: sql<
          Date[]
        >`array(select at from unnest(i.resent_at) at where at > now() - interval '1 day') || now()`,
      })
      .where('i.invitation_id', '=', invitationId)
      .execute()
    await events.emit('organizations_InvitationResent', { organizationId, invitationId, email })
    await enqueue('organizations_SendInvitationEmail', { invitationId })
    const invited = await tx.selectFrom('user').where(hasEmail(email)).select('user_id').executeTakeFirst()
    changed('members')
    if (invited) changed('invitations', {}, [invited.user_id])
    return {}
  },
)

function inWords(secs: number): string {
  const hours = Math.ceil(secs / 3600)
  return hours > 1 ? `in ${hours} hours` : 'within the hour'
}

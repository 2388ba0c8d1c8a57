import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isAccountOf } from '../../accounts/index.ts'
import { countMail, queuedMail } from '../invitations.ts'
import { lockMembers } from '../organization-members.ts'

/** Time, in seconds, in which a second call sends no second mail: two administrators may click at the same time. */
const SAME_CALL_SECS = 30

/**
 * Mails an invitation again with a new link. The former link becomes invalid, and the expiry starts anew. Throws `RateLimited` when the
 * address has got too many invitations by mail, and `Invalid` (409) for an invitation that has just been accepted or withdrawn.
 */
export const organizations_ResendInvitation = handler(
  'organizations_ResendInvitation',
  async ({ tx, events, scope, changed, enqueue }, { invitationId }) => {
    const organizationId = scope.organizationId!
    await lockMembers(tx, organizationId)
    const sent = await tx
      .selectFrom('organization_invitation')
      .where('invitation_id', '=', invitationId)
      .select([
        'email',
        sql<boolean>`resent_at[cardinality(resent_at)] > now() - make_interval(secs => ${SAME_CALL_SECS})`.as(
          'isSameCall',
        ),
        sql<boolean>`created_at > now() - interval '1 day'`.as('isFirstOfDay'),
      ])
      .executeTakeFirst()
    if (!sent)
      throw new ActionError('Invalid', 'The invitation has just been accepted or withdrawn.', { status: 409 })
    const { email, isSameCall, isFirstOfDay } = sent
    if (isSameCall) return {}
    const limit = await countMail(tx, email, isFirstOfDay)
    if (limit) throw new ActionError('RateLimited', limit.reason, { retryAfterSecs: limit.retryAfterSecs })
    await tx
      .updateTable('organization_invitation')
      .set({
        ...queuedMail,
        link_id: sql<string>`gen_random_uuid()::text`,
        resent_at: sql<Date[]>`array[now()]`,
      })
      .where('invitation_id', '=', invitationId)
      .execute()
    await events.emit('organizations_InvitationResent', { organizationId, invitationId, email })
    await enqueue('organizations_SendInvitationEmail', { invitationId })
    const invited = await tx.selectFrom('user').where(isAccountOf(email)).select('user_id').executeTakeFirst()
    changed('members')
    if (invited) changed('invitations', {}, [invited.user_id])
    return {}
  },
)

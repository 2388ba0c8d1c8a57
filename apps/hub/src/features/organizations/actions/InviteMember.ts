import { ActionError, newId } from '@muster/actions'
import { sql } from 'kysely'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { isSameEmail, requireCanonical } from '../../../platform/pipeline/email-address.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isAccountOf } from '../../accounts/index.ts'
import { countMail, isInvitationTo, isOpen, queuedMail } from '../invitations.ts'
import { lockMembers } from '../organization-members.ts'

/**
 * Invites an email address by mail. If the address already has an open invitation, returns that invitation. An invitation that has
 * ended is replaced. An address that has got too many invitations by mail gets no mail, which is stored as the mail state of the
 * invitation. Throws `Invalid` (409) for the address of a member and for an address that is not stable, and `LimitReached` for too many
 * invitations.
 */
export const organizations_InviteMember = handler(
  'organizations_InviteMember',
  async ({ tx, events, caller, changed, enqueue, services }, { organizationId, email }) => {
    await lockMembers(tx, organizationId)
    const account = await tx
      .selectFrom('user as u')
      .leftJoin('organization_member as m', join =>
        join.onRef('m.user_id', '=', 'u.user_id').on('m.organization_id', '=', organizationId),
      )
      .where(isAccountOf(email, sql.ref('u.user_id')))
      .select(['u.user_id', 'u.email', 'm.organization_id'])
      .executeTakeFirst()
    if (account?.organization_id)
      throw new ActionError('Invalid', `${email} is already a member.`, { status: 409 })
    // Accounts of earlier releases may have an address that is not stable, by which they can still be invited.
    if (account?.email !== email) requireCanonical(email)
    const former = await tx
      .selectFrom('organization_invitation as i')
      .where('i.organization_id', '=', organizationId)
      // The unique index of the table compares by the rules of the database.
      .where(sql<boolean>`(${isInvitationTo(email)} or lower(i.email) = lower(${email}))`)
      .orderBy(isInvitationTo(email), 'desc')
      .select(['i.invitation_id', 'i.email', isOpen.as('isOpen')])
      .executeTakeFirst()
    if (former?.isOpen && !isSameEmail(former.email, email))
      throw new ActionError(
        'Invalid',
        `Found an open invitation to ${former.email}, which differs in case only: withdraw it first.`,
        { status: 409 },
      )
    // Queues no second mail for an open invitation, so that repeated calls cannot flood a mailbox.
    if (former?.isOpen) return { invitationId: former.invitation_id }
    if (former) {
      await tx
        .deleteFrom('organization_invitation')
        .where('invitation_id', '=', former.invitation_id)
        .execute()
      await events.emit(
        'organizations_InvitationDeleted',
        { organizationId, invitationId: former.invitation_id },
        { old: { email: former.email } },
      )
    }
    const { count } = await tx
      .selectFrom('organization_invitation')
      .where('organization_id', '=', organizationId)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    const remedy = 'Withdraw invitations that were not accepted.'
    requireRoom(services, 'organization-invitations', { organizationId }, count, remedy)
    const limit = await countMail(tx, email, true)
    const invitationId = newId('org_invite')
    await tx
      .insertInto('organization_invitation')
      .values({
        invitation_id: invitationId,
        organization_id: organizationId,
        email,
        inviting_user_id: personOf(caller)?.userId ?? null,
        ...queuedMail,
        ...(limit && { mail_state: 'NotSent', mail_reason: limit.reason }),
      })
      .execute()
    await events.emit('organizations_InvitationCreated', { organizationId, invitationId, email })
    if (!limit) await enqueue('organizations_SendInvitationEmail', { invitationId })
    changed('members')
    if (account) changed('invitations', {}, [account.user_id])
    return { invitationId }
  },
)

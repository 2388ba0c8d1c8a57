import { handler } from '../../../platform/pipeline/handler.ts'
import { isAccountOf } from '../../accounts/index.ts'

/** Withdraws an invitation and notifies the members and the invited person. */
export const organizations_DeleteInvitation = handler(
  'organizations_DeleteInvitation',
  async ({ tx, events, scope, changed }, { invitationId }) => {
    const { email } = await tx
      .deleteFrom('organization_invitation')
      .where('invitation_id', '=', invitationId)
      .returning('email')
      .executeTakeFirstOrThrow()
    const organizationId = scope.organizationId!
    await events.emit('organizations_InvitationDeleted', { organizationId, invitationId }, { old: { email } })
    const invited = await tx.selectFrom('user').where(isAccountOf(email)).select('user_id').executeTakeFirst()
    changed('members')
    if (invited) changed('invitations', {}, [invited.user_id])
    return {}
  },
)

import { handler } from '../../handler.ts'

export const users_SetDisplayName = handler(
  'users_SetDisplayName',
  async ({ tx, events, changed }, { userId, displayName }) => {
    await tx.updateTable('user').set({ display_name: displayName }).where('user_id', '=', userId).execute()
    await events.emit('users_DisplayNameChanged', { userId, displayName })
    const memberships = await tx
      .selectFrom('organization_member')
      .where('user_id', '=', userId)
      .select('organization_id')
      .execute()
    for (const { organization_id: organizationId } of memberships) changed('members', { organizationId })
    return {}
  },
)

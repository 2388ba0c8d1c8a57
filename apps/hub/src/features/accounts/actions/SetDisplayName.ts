import { handler } from '../../../platform/pipeline/handler.ts'
import { organizationIdsOf } from '../../organizations/index.ts'

/** Sets the display name of a person and notifies the organizations that show it in their lists of members. */
export const users_SetDisplayName = handler(
  'users_SetDisplayName',
  async ({ tx, events, changed }, { userId, displayName }) => {
    const before = await tx
      .selectFrom('user')
      .where('user_id', '=', userId)
      .select('display_name')
      .forNoKeyUpdate()
      .executeTakeFirst()
    await tx.updateTable('user').set({ display_name: displayName }).where('user_id', '=', userId).execute()
    await events.emit(
      'users_DisplayNameChanged',
      { userId, displayName },
      { old: { displayName: before?.display_name ?? undefined } },
    )
    for (const organizationId of await organizationIdsOf(tx, userId)) changed('members', { organizationId })
    return {}
  },
)

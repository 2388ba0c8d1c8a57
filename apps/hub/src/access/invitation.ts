import { type Resolve, roleOf } from './scope.ts'

/** An invitation belongs to its organization and to the person who has its address. */
export const resolveInvitation: Resolve = async (db, invitationId, userId) => {
  const row = await db
    .selectFrom('organization_invitation as i')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'i.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .leftJoin('user as u', join =>
      join
        .on('u.user_id', '=', userId ?? '')
        .on(({ eb, fn }) => eb(fn('lower', ['u.email']), '=', fn('lower', ['i.email']))),
    )
    .where('i.invitation_id', '=', invitationId)
    .select(['i.organization_id', 'm.is_admin', 'u.user_id'])
    .executeTakeFirst()
  return (
    row && {
      organizationId: row.organization_id,
      role: roleOf(row.is_admin),
      ...(row.user_id !== null && { userId: row.user_id }),
    }
  )
}

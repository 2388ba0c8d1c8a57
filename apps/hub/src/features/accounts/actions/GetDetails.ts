import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns the profile of an account. */
export const users_GetDetails = handler('users_GetDetails', async ({ db }, { userId }) => {
  const user = await db
    .selectFrom('user')
    .where('user_id', '=', userId)
    .select(['email', 'display_name', 'is_admin'])
    .executeTakeFirstOrThrow()
  return { userId, email: user.email, displayName: user.display_name ?? undefined, isAdmin: user.is_admin }
})

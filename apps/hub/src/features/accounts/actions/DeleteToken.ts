import { handler } from '../../../platform/pipeline/handler.ts'

/** Deletes a user token. Its name is kept in the audit event. */
export const users_DeleteToken = handler('users_DeleteToken', async (context, { tokenId }) => {
  const { tx, events, services, afterCommit } = context
  const { user_id: userId, name } = await tx
    .deleteFrom('user_token')
    .where('token_id', '=', tokenId)
    .returning(['user_id', 'name'])
    .executeTakeFirstOrThrow()
  await events.emit('users_TokenDeleted', { userId, tokenId, ...(name !== null && { name }) })
  afterCommit(() => services.rights.announce({ userId }))
  return {}
})

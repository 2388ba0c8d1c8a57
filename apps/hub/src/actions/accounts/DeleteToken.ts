import { handler } from '../../handler.ts'

export const users_DeleteToken = handler('users_DeleteToken', async ({ tx, events }, { tokenId }) => {
  const { user_id: userId } = await tx
    .deleteFrom('user_token')
    .where('token_id', '=', tokenId)
    .returning('user_id')
    .executeTakeFirstOrThrow()
  await events.emit('users_TokenDeleted', { userId, tokenId })
  return {}
})

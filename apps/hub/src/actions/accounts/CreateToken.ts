import { newId, publicIdOf } from '@muster/actions'
import { handler } from '../../handler.ts'
import { hashSecret } from '../../secrets.ts'

export const users_CreateToken = handler('users_CreateToken', async ({ tx, events }, { userId, name }) => {
  const token = newId('u_sk')
  const tokenId = publicIdOf(token)
  await tx
    .insertInto('user_token')
    .values({ token_id: tokenId, token_hash: hashSecret(token), user_id: userId, name: name ?? null })
    .execute()
  await events.emit('users_TokenCreated', { userId, tokenId })
  return { tokenId, token }
})

import { newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '../../../platform/credentials/secrets.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { lockAccount } from '../account-lock.ts'
import { requireLiveCredential } from '../accounts.ts'

/** Creates a user token. The answer is the only place with its secret, because the database stores a hash. */
export const users_CreateToken = handler(
  'users_CreateToken',
  async ({ tx, events, services, caller }, { userId, name, validForSecs }) => {
    await lockAccount(tx, userId)
    await requireLiveCredential(tx, caller)
    const { count } = await tx
      .selectFrom('user_token')
      .where('user_id', '=', userId)
      .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', new Date())]))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    requireRoom(services, 'person-tokens', { userId }, count, 'Delete a token that is not used any more.')
    const token = newId('u_sk')
    const tokenId = publicIdOf(token)
    const expiresAt = validForSecs === undefined ? null : new Date(Date.now() + validForSecs * 1000)
    await tx
      .insertInto('user_token')
      .values({
        token_id: tokenId,
        token_hash: hashSecret(token),
        user_id: userId,
        name: name ?? null,
        expires_at: expiresAt,
      })
      .execute()
    const expiry = expiresAt === null ? {} : { expiresAt: wireTime(expiresAt) }
    await events.emit('users_TokenCreated', {
      userId,
      tokenId,
      ...(name !== undefined && { name }),
      ...expiry,
    })
    return { tokenId, token, ...expiry }
  },
)

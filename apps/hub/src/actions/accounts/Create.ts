import { newId } from '@muster/actions'
import { FIRST_PASSWORD_SECS, issueMailedToken } from '../../database/mailed-tokens.ts'
import { createOwnOrganization } from '../../database/organizations.ts'
import { handler } from '../../handler.ts'
import { hashPassword } from '../../passwords.ts'

export const users_Create = handler(
  'users_Create',
  async ({ tx, events, enqueue }, { email, displayName, name, password, isAdmin = false }) => {
    const userId = newId('u')
    const shownName = displayName ?? name ?? null
    const passwordHash = password === undefined ? null : await hashPassword(password)
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('user')
      .values({
        user_id: userId,
        email,
        display_name: shownName,
        password_hash: passwordHash,
        is_admin: isAdmin,
      })
      .onConflict(conflict => conflict.doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) return { result: 'EmailAlreadyExists' as const }
    await events.emit('users_Created', { userId, email })
    await createOwnOrganization({ tx, events }, { userId, email, displayName: shownName })
    if (passwordHash === null) {
      const jwtId = await issueMailedToken(tx, 'PasswordReset', userId, FIRST_PASSWORD_SECS)
      await enqueue('users_SendPasswordEmail', { jwtId })
    }
    return { result: 'Created' as const, userId }
  },
)

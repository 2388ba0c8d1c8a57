import { ActionError } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { Caller } from '../../../caller.ts'
import type { CommandTransaction } from '../../../command-transaction.ts'
import { forgetFirstSignIn } from '../../../credentials/first-sign-in.ts'
import type { PasswordChanger } from '../../../mail/password-changed.ts'
import type { Db, Tx } from '../../client/connection.ts'
import { voidMailedTokens } from './mailed-tokens.ts'

/** Condition that an account or an invitation has this address, in any case. */
export function hasEmail(email: string): RawBuilder<boolean> {
  return sql<boolean>`lower(email) = lower(${email})`
}

/** The address of an account, or nothing when there is no such account. */
export async function emailOf(db: Db, userId: string): Promise<string | undefined> {
  const user = await db.selectFrom('user').where('user_id', '=', userId).select('email').executeTakeFirst()
  return user?.email
}

type PasswordChange = {
  userId: string
  passwordHash: string
  by: PasswordChanger
  /** The session that makes the change; it stays. */
  keptSessionId?: string | undefined
  /** Whether the user tokens of the account end as well. */
  endTokens: boolean
}

/**
 * Sets the hash of an account's password, ends its sessions except the kept one, voids mailed links to set a password and mails the
 * owner that the password was changed. Throws `Forbidden` when the kept session has ended meanwhile, as by another password.
 */
export async function setPassword(
  context: CommandTransaction & { services: { dataDir: string } },
  { userId, passwordHash, by, keptSessionId, endTokens }: PasswordChange,
): Promise<void> {
  const { tx, services, enqueue, afterCommit } = context
  const { email } = await tx
    .updateTable('user')
    .set({ password_hash: passwordHash })
    .where('user_id', '=', userId)
    .returning('email')
    .executeTakeFirstOrThrow()
  if (keptSessionId !== undefined)
    await tx
      .selectFrom('session')
      .where('session_id', '=', keptSessionId)
      .select('session_id')
      .executeTakeFirstOrThrow()
  await tx
    .deleteFrom('session')
    .where('user_id', '=', userId)
    .where('session_id', '<>', keptSessionId ?? '')
    .execute()
  if (endTokens) await endUserTokens(context, userId)
  await voidMailedTokens(tx, 'PasswordReset', userId)
  await enqueue('users_SendPasswordChangedEmail', { userId, by, changedAt: new Date().toISOString() })
  afterCommit(() => forgetFirstSignIn(services.dataDir, email))
}

/** Ends every session of an account except the kept one, each with an audit event. */
export async function endSessions(
  { tx, events }: Pick<CommandTransaction, 'tx' | 'events'>,
  userId: string,
  keptSessionId = '',
): Promise<void> {
  const sessions = await tx
    .deleteFrom('session')
    .where('user_id', '=', userId)
    .where('session_id', '<>', keptSessionId)
    .returning('session_id')
    .execute()
  for (const { session_id: sessionId } of sessions)
    await events.emit('users_SessionTerminated', { userId, sessionId })
}

/**
 * Throws `Forbidden` when the session or user token of a caller has ended meanwhile. The account must be locked, so that what ends
 * credentials has either committed or waits.
 */
export async function requireLiveCredential(tx: Tx, caller: Caller): Promise<void> {
  if (caller.actor === 'User')
    await tx
      .selectFrom('session')
      .where('session_id', '=', caller.sessionId)
      .select('session_id')
      .executeTakeFirstOrThrow()
  if (caller.actor === 'UserToken')
    await tx
      .selectFrom('user_token')
      .where('token_id', '=', caller.tokenId)
      .select('token_id')
      .executeTakeFirstOrThrow()
}

/** Ends every user token of an account, each with an audit event. */
export async function endUserTokens(
  { tx, events }: Pick<CommandTransaction, 'tx' | 'events'>,
  userId: string,
): Promise<void> {
  const tokens = await tx
    .deleteFrom('user_token')
    .where('user_id', '=', userId)
    .returning(['token_id', 'name'])
    .execute()
  for (const { token_id: tokenId, name } of tokens)
    await events.emit('users_TokenDeleted', { userId, tokenId, ...(name !== null && { name }) })
}

/**
 * Makes sure that the instance still has an administrator when this account is none any more, also when two are taken away at
 * once: the rows of all of them stay locked until the commit. Throws `Invalid` when it is the last.
 */
export async function keepAnAdministrator(tx: Tx, userId: string): Promise<void> {
  const administrators = await tx
    .selectFrom('user')
    .where('is_admin', '=', true)
    .where('is_active', '=', true)
    .orderBy('user_id')
    .select('user_id')
    .forNoKeyUpdate()
    .execute()
  if (administrators.every(one => one.user_id === userId))
    throw new ActionError(
      'Invalid',
      'This is the last administrator of the instance: name another one first.',
    )
}

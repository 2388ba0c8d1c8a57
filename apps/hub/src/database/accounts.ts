import { ActionError } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { forgetFirstSignIn } from '../bootstrap.ts'
import type { CommandContext } from '../handler.ts'
import type { Tx } from './connection.ts'
import { voidMailedTokens } from './mailed-tokens.ts'

/** Condition that an account or an invitation has this address, in any case. */
export function hasEmail(email: string): RawBuilder<boolean> {
  return sql<boolean>`lower(email) = lower(${email})`
}

/**
 * Sets the hash of an account's password, ends its sessions but the one that is kept, and makes mailed links to set one void.
 * Throws `Forbidden` when the kept session has ended meanwhile, as by another password.
 */
export async function setPassword(
  { tx, services, afterCommit }: CommandContext,
  userId: string,
  passwordHash: string,
  keptSessionId?: string,
): Promise<void> {
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
  await voidMailedTokens(tx, 'PasswordReset', userId)
  afterCommit(() => forgetFirstSignIn(services.dataDir, email))
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

import { ActionError, newId } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { EndedRights } from '../../platform/bus/ended-rights.ts'
import { forgetFirstPassword } from '../../platform/credentials/first-password.ts'
import { forgetFirstSignIn } from '../../platform/credentials/first-sign-in.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { matchesText } from '../../platform/database/client/page.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { readEmail, requireCanonical } from '../../platform/pipeline/email-address.ts'
import { createOwnOrganization } from '../organizations/index.ts'
import { lockAccount } from './account-lock.ts'
import { voidMailedTokens } from './mailed-tokens.ts'
import type { PasswordChanger } from './password-changed-mail.ts'

/**
 * SQL condition that a column has the id of the account of an email address: of the account with exactly this text, else of the one with
 * the same canonical address, else, among accounts whose canonical address the job `users_FillCanonicalEmails` has not stored yet, of the
 * one that differs in case only.
 */
export function isAccountOf(email: string, userId: RawBuilder<unknown> = sql.ref('user_id')) {
  return sql<boolean>`${userId} = ${accountOf(email, sql`a.canonical_email is null`)}`
}

/**
 * Like `isAccountOf` for the address of a new account. Addresses that are equal in lower case by the rules of the database count as taken
 * too, because nodes of the release before compare them so.
 */
export function isTakenBy(email: string, userId: RawBuilder<unknown> = sql.ref('user_id')) {
  return sql<boolean>`${userId} = ${accountOf(email, sql`true`)}`
}

/** SQL condition that an address contains a text, ignoring case, or is another spelling of it; true without a text. */
export function matchesEmail(text: string | undefined, column: RawBuilder<unknown>): RawBuilder<boolean> {
  const found = text ? readEmail(text) : undefined
  const contains = matchesText(text, column)
  return found && 'canonical' in found
    ? sql<boolean>`(${contains} or lower(${column} collate "C") = any(${found.spellings}))`
    : contains
}

function accountOf(email: string, mayIgnoreCase: RawBuilder<unknown>): RawBuilder<unknown> {
  const found = readEmail(email)
  const [canonical, spellings] = 'canonical' in found ? [found.canonical, found.spellings] : [email, []]
  return sql`(
    select a.user_id from "user" a
     where a.canonical_email = any(${[email, canonical]})
        or (${mayIgnoreCase} and lower(a.email) = any(array(select lower(s) from unnest(${[email, ...spellings]}::text[]) s)))
     order by a.email = ${email} desc, a.canonical_email = ${canonical} desc nulls last, a.user_id limit 1)`
}

/** Email address of an account, or undefined for an absent account. */
export async function emailOf(db: Db, userId: string): Promise<string | undefined> {
  const user = await db.selectFrom('user').where('user_id', '=', userId).select('email').executeTakeFirst()
  return user?.email
}

type NewAccount = {
  email: string
  displayName: string | null
  /** Null for an account whose owner sets the password by a mailed link. */
  passwordHash: string | null
  isAdmin: boolean
}

/**
 * Creates an active account and an organization for it. Resolves to the id of the account, or to undefined if the address has an account
 * already. Throws `Invalid` (409) for an address that is not stable.
 */
export async function createAccount(
  context: Pick<CommandTransaction, 'tx' | 'events'>,
  { email, displayName, passwordHash, isAdmin }: NewAccount,
): Promise<ReturnType<typeof newId<'u'>> | undefined> {
  const { tx, events } = context
  const canonical = requireCanonical(email)
  const known = await tx.selectFrom('user').where(isTakenBy(email)).select('user_id').executeTakeFirst()
  if (known) return undefined
  const userId = newId('u')
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('user')
    .values({
      user_id: userId,
      email,
      canonical_email: canonical,
      display_name: displayName,
      password_hash: passwordHash,
      is_admin: isAdmin,
    })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return undefined
  await events.emit('users_Created', { userId, email })
  await createOwnOrganization(context, { userId, email, displayName })
  return userId
}

/** Context of a command that revokes rights of a person, for example by a new password. */
type EndingContext = CommandTransaction & { services: { rights: EndedRights } }

type PasswordChange = {
  userId: string
  passwordHash: string
  by: PasswordChanger
  /** Session that makes the change. It stays valid, while all other sessions of the account end. */
  keptSessionId?: string | undefined
  /** Whether to end the account's user tokens as well. */
  endTokens: boolean
}

/**
 * Sets the password hash of an account, ends its other sessions, voids mailed links that set a password or the address, and queues a mail
 * that informs the owner. Throws `Forbidden` when the kept session has ended since the request was authenticated, for example
 * because of a concurrent password change.
 */
export async function setPassword(
  context: EndingContext & { services: { dataDir: string } },
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
  await voidMailedTokens(tx, ['PasswordReset', 'EmailChange'], userId)
  await forgetFirstPassword(tx, userId)
  await enqueue('users_SendPasswordChangedEmail', { userId, by, changedAt: new Date().toISOString() })
  afterCommit(() => services.rights.announce({ userId }))
  afterCommit(() => forgetFirstSignIn(services.dataDir, email))
}

/** Ends every session of an account except the kept one, with an audit event for each. */
export async function endSessions(
  { tx, events, services, afterCommit }: EndingContext,
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
  afterCommit(() => services.rights.announce({ userId }))
}

/**
 * Throws `Forbidden` when the caller's session or user token has ended since the request was authenticated. The account must be
 * locked, so that a transaction that ends credentials has either committed or waits.
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

/** Ends every user token of an account, with an audit event for each. */
async function endUserTokens(
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
 * Enables or disables an account. Disabling ends its sessions, user tokens and mailed links to set a password or the address. Resolves to
 * false, and changes nothing, if the account is so already. Throws `Invalid` for an account whose owner has not activated it, and for
 * disabling the last administrator of the instance.
 */
export async function setIsActive(
  context: EndingContext,
  userId: string,
  isActive: boolean,
): Promise<boolean> {
  const { tx, events } = context
  if (!isActive) await keepAnAdministrator(tx, userId)
  await lockAccount(tx, userId)
  const account = await tx
    .selectFrom('user as u')
    .leftJoin('registration as r', 'r.user_id', 'u.user_id')
    .where('u.user_id', '=', userId)
    .select(['u.is_active', 'r.status'])
    .executeTakeFirstOrThrow()
  // A pending account must not be enabled here: its owner has not proved control of the email address.
  if (account.status === 'Pending')
    throw new ActionError(
      'Invalid',
      'Found an account that is not activated yet, expected one whose owner opened the mailed link: wait, or delete it.',
      { status: 409 },
    )
  if (account.is_active === isActive) return false
  await tx.updateTable('user').set({ is_active: isActive }).where('user_id', '=', userId).execute()
  if (!isActive) {
    await endSessions(context, userId)
    await endUserTokens(context, userId)
    await voidMailedTokens(tx, ['PasswordReset', 'EmailChange'], userId)
  }
  await events.emit('users_SetIsActive', { userId, isActive }, { old: { isActive: !isActive } })
  return true
}

/**
 * Throws `Invalid` when this account is the last active administrator of the instance. Locks the rows of all active administrators
 * until the commit, so that two concurrent removals cannot both pass.
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

import type pg from 'pg'
import { type Finding, warning } from '../../platform/operator/finding.ts'
import { mappedEmail } from '../../platform/pipeline/email-address.ts'

/** Accounts that are read with one statement. */
const PORTION = 1000
/** Groups of accounts that are listed. */
const MAX_GROUPS = 20

type Account = { userId: string; email: string }

/**
 * Lists accounts whose addresses would be the same if Unicode and IDNA changed them freely, for example in two spellings of a domain. The hub
 * merges none of them. No finding if there are none, or in a database of an earlier release, which lacks a column.
 */
export async function checkAddresses(client: pg.ClientBase): Promise<Finding[]> {
  const { rowCount } = await client.query(
    `select from information_schema.columns where table_name = 'user' and column_name = 'canonical_email'`,
  )
  if (rowCount === 0) return []
  const groups = new Map<string, Account[]>()
  let last = ''
  for (;;) {
    const { rows } = await client.query<Account>(
      // An address of ASCII letters collides only with an address that this condition selects.
      `select user_id as "userId", email from "user"
        where user_id > $1 and (email ~ '[^!-~]' or email ~* 'xn--' or email like '%.'
              or canonical_email <> lower(email collate "C"))
        order by user_id limit $2`,
      [last, PORTION],
    )
    for (const account of rows) {
      const address = mappedEmail(account.email)
      groups.set(address, [...(groups.get(address) ?? []), account])
    }
    if (rows.length < PORTION) break
    last = rows.at(-1)!.userId
  }
  const { rows: plain } = await client.query<Account>(
    `select user_id as "userId", email from "user" where lower(email) = any($1)`,
    [[...groups.keys()]],
  )
  for (const account of plain) {
    const group = groups.get(mappedEmail(account.email))
    if (group?.every(({ userId }) => userId !== account.userId)) group.push(account)
  }
  const colliding = [...groups.values()].filter(group => group.length > 1)
  if (colliding.length === 0) return []
  const listed = colliding
    .slice(0, MAX_GROUPS)
    .map(group => group.map(({ email, userId }) => `${email} (${userId})`).join(' and '))
  const more = colliding.length > MAX_GROUPS ? `; and ${colliding.length - MAX_GROUPS} more` : ''
  return [
    warning(
      `Accounts with the same address in other spellings: ${listed.join('; ')}${more}.`,
      'Each signs in with exactly its text. Ask their owners which account is theirs, and delete the others.',
    ),
  ]
}

import { type RawBuilder, sql } from 'kysely'
import { matchesText } from '../../platform/database/client/page.ts'
import { matchesEmail } from '../accounts/index.ts'

/** SQL for the name of the account `u` that logs show: the display name, else the email address. */
export const SHOWN_NAME: RawBuilder<string> = sql<string>`coalesce(nullif(u.display_name, ''), u.email)`

/** Reader of a log: the organization whose log or device it is. */
export type Reader = { organizationId: string | undefined }

/**
 * SQL condition that the shown name of the account `u` contains a text, or its email address does. With a reader, only addresses of members
 * of the reader's organization are searched. Otherwise a member could spell out the address of any account, such as that of an operator
 * whose display name is in the log.
 */
export function matchesPerson(text: string, reader: Reader | undefined): RawBuilder<boolean> {
  const address = matchesEmail(text, sql`u.email`)
  if (reader === undefined) return sql<boolean>`(${matchesText(text, SHOWN_NAME)} or ${address})`
  return sql<boolean>`(${matchesText(text, SHOWN_NAME)} or ${address} and ${isMember(reader)})`
}

/**
 * SQL sort key that brings members of the reader's organization before all other accounts `u`. A search reads a bounded number of accounts, and
 * on a hub with many tenants more of them may have a name that contains the text.
 */
export function membersFirst(reader: Reader | undefined): RawBuilder<unknown> {
  return reader === undefined ? sql`u.created_at` : sql`not ${isMember(reader)}, u.created_at`
}

function isMember({ organizationId }: Reader): RawBuilder<boolean> {
  return sql<boolean>`exists (select from organization_member m
    where m.user_id = u.user_id and m.organization_id = ${organizationId ?? null})`
}

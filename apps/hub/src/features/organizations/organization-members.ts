import { ActionError } from '@muster/actions'
import type { Tx } from '../../platform/database/client/connection.ts'

/**
 * Locks the members and invitations of an organization until the end of the transaction, which serializes their changes. Without
 * the lock, two administrators who remove each other at the same time would each still see the other as an administrator. Throws for an
 * absent organization.
 */
export async function lockMembers(tx: Tx, organizationId: string): Promise<void> {
  await tx
    .selectFrom('organization')
    .where('organization_id', '=', organizationId)
    .select('organization_id')
    // `for update` would also block inserts of rows that reference the organization.
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/** Ids of the organizations that a person is a member of. */
export async function organizationIdsOf(tx: Tx, userId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('organization_member')
    .where('user_id', '=', userId)
    .select('organization_id')
    .execute()
  return rows.map(({ organization_id }) => organization_id)
}

/** Whether a member is an administrator. Throws `Invalid` with status 404 for a person who is not a member. */
export async function isAdminOfMember(tx: Tx, organizationId: string, userId: string): Promise<boolean> {
  const member = await tx
    .selectFrom('organization_member')
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .select('is_admin')
    .executeTakeFirst()
  if (!member)
    throw new ActionError('Invalid', 'This person is not a member of the organization.', { status: 404 })
  return member.is_admin
}

/**
 * Throws `Invalid` when a person is the only administrator of an organization. The only administrator can neither leave nor be
 * demoted (docs/api.md 2.4). The caller must hold `lockMembers`.
 */
export async function requireAnotherAdmin(tx: Tx, organizationId: string, userId: string): Promise<void> {
  const another = await tx
    .selectFrom('organization_member')
    .where('organization_id', '=', organizationId)
    .where('user_id', '<>', userId)
    .where('is_admin', '=', true)
    .select('user_id')
    .limit(1)
    .executeTakeFirst()
  if (!another) {
    throw new ActionError(
      'Invalid',
      'This is the last administrator of the organization: make another member an administrator first.',
      { status: 409 },
    )
  }
}

import { MAX_NAME_LENGTH, newId } from '@muster/actions'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'

type Context = Pick<CommandTransaction, 'tx' | 'events'>

/** Creates an organization with its first administrators and emits the audit events; returns its id. */
export async function createOrganization(
  { tx, events }: Context,
  name: string,
  adminIds: readonly string[],
): Promise<ReturnType<typeof newId<'org'>>> {
  const organizationId = newId('org')
  await tx.insertInto('organization').values({ organization_id: organizationId, name }).execute()
  await events.emit('organizations_Created', { organizationId })
  for (const userId of adminIds) {
    await tx
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId, is_admin: true })
      .execute()
    await events.emit('organizations_MemberAdded', { organizationId, userId, isAdmin: true })
  }
  return organizationId
}

/** Creates the organization that a new account starts with, named after the person. */
export async function createOwnOrganization(
  context: Context,
  { userId, email, displayName }: { userId: string; email: string; displayName: string | null },
): Promise<void> {
  const of = "'s organization"
  const person = [...(displayName ?? email.split('@')[0]!)].slice(0, MAX_NAME_LENGTH - of.length).join('')
  await createOrganization(context, `${person}${of}`, [userId])
}

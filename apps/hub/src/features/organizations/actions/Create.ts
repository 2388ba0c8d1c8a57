import { ActionError } from '@muster/actions'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import type { Services } from '../../../platform/pipeline/services.ts'
import { lockAccount } from '../../accounts/index.ts'
import { createOrganization } from '../organizations.ts'

/**
 * Creates an organization. The caller becomes its administrator. An administrator of the instance may pass other accounts in `admins`
 * instead. Throws `LimitReached` when the caller already administers the maximum number of organizations.
 */
export const organizations_Create = handler(
  'organizations_Create',
  async ({ tx, events, caller, changed, services }, { name, admins }) => {
    const person = personOf(caller)
    if (admins && person && !person.isAdmin) {
      throw new ActionError(
        'Forbidden',
        'Only administrators of the instance can name the administrators of an organization.',
      )
    }
    const userIds = [...new Set(admins ?? (person ? [person.userId] : []))]
    for (const userId of userIds) {
      const user = await tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .select('user_id')
        .executeTakeFirst()
      if (!user) throw new ActionError('Invalid', `admins: there is no account ${userId}.`, { status: 404 })
    }
    if (person && userIds.includes(person.userId)) await requireOrganizationsLeft(tx, person.userId, services)
    const organizationId = await createOrganization({ tx, events }, name, userIds)
    changed('organizations', { organizationId }, userIds)
    return { organizationId }
  },
)

/** Throws `LimitReached` when a person administers the maximum number of organizations. Locks the account until the commit. */
async function requireOrganizationsLeft(tx: Tx, userId: string, services: Services): Promise<void> {
  await lockAccount(tx, userId)
  const { count } = await tx
    .selectFrom('organization_member')
    .where('user_id', '=', userId)
    .where('is_admin', '=', true)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const remedy = 'Delete an organization or hand one over first.'
  requireRoom(services, 'person-organizations', { userId }, count, remedy)
}

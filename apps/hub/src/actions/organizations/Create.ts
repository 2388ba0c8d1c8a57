import { ActionError } from '@muster/actions'
import { personOf } from '../../caller.ts'
import { createOrganization } from '../../database/organizations.ts'
import { handler } from '../../handler.ts'

export const organizations_Create = handler(
  'organizations_Create',
  async ({ tx, events, caller, changed }, { name, admins }) => {
    const person = personOf(caller)
    if (admins && person && !person.isAdmin) {
      throw new ActionError(
        'Forbidden',
        'Only administrators of the instance name the administrators of an organization.',
      )
    }
    const userIds = [...new Set(admins ?? (person ? [person.userId] : []))]
    for (const userId of userIds) {
      const user = await tx
        .selectFrom('user')
        .where('user_id', '=', userId)
        .select('user_id')
        .executeTakeFirst()
      if (!user) throw new ActionError('Invalid', `admins: there is no account ${userId}.`)
    }
    const organizationId = await createOrganization({ tx, events }, name, userIds)
    changed('organizations', { organizationId }, userIds)
    return { organizationId }
  },
)

import { nameKey } from '@muster/predicates/name-key'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Lists the organizations that a person is a member of, in the natural order of their names. */
export const users_QueryOrganizations = handler('users_QueryOrganizations', async ({ db }, { userId }) => {
  const organizations = await db
    .selectFrom('organization_member as m')
    .innerJoin('organization as o', 'o.organization_id', 'm.organization_id')
    .where('m.user_id', '=', userId)
    .select(eb => [
      'o.organization_id as organizationId',
      'o.name',
      'm.is_admin as isAdmin',
      // Newer clients require this field. It is always false, because Muster has no subscriptions (docs/api.md 2.1).
      eb.lit(false).as('requiresSubscription'),
    ])
    .orderBy('o.organization_id')
    .execute()
  const keys = new Map(organizations.map(({ name }) => [name, Buffer.from(nameKey(name))]))
  organizations.sort((one, other) => Buffer.compare(keys.get(one.name)!, keys.get(other.name)!))
  return { organizations }
})

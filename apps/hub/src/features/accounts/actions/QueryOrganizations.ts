import { handler } from '../../../platform/pipeline/handler.ts'

/** Lists the organizations that a person is a member of, sorted by name. */
export const users_QueryOrganizations = handler('users_QueryOrganizations', async ({ db }, { userId }) => ({
  organizations: await db
    .selectFrom('organization_member as m')
    .innerJoin('organization as o', 'o.organization_id', 'm.organization_id')
    .where('m.user_id', '=', userId)
    .select(eb => [
      'o.organization_id as organizationId',
      'o.name',
      // Newer clients require this field. It is always false, because Muster has no subscriptions (docs/api.md 2.1).
      eb.lit(false).as('requiresSubscription'),
    ])
    .orderBy('o.name')
    .orderBy('o.organization_id')
    .execute(),
}))

import { ownedBy } from '../../platform/access/scope.ts'

/** Finds the organization that owns a webhook, and its project if it has one. */
const resolveWebhook = ownedBy(
  (id, userId) => `
  select w.organization_id as "organizationId", m.is_admin as "isAdmin"
    from webhook w
    left join organization_member m on m.organization_id = w.organization_id and m.user_id = ${userId}
   where w.webhook_id = ${id}`,
)

/** Finds the owners of the resources of this feature. */
export const owners = { webhook: resolveWebhook }

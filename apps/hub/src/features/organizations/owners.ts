import { rightsOf } from '../../platform/access/rights.ts'
import { ownedBy, type Resolve } from '../../platform/access/scope.ts'
import { select } from '../../platform/database/client/connection.ts'
import { isSameEmail } from '../../platform/pipeline/email-address.ts'

/** Finds an organization and the caller's role in it. */
const resolveOrganization = ownedBy(
  (id, userId) => `
  select o.organization_id as "organizationId", m.is_admin as "isAdmin"
    from organization o
    left join organization_member m on m.organization_id = o.organization_id and m.user_id = ${userId}
   where o.organization_id = ${id}`,
)

const OWNERS_OF_INVITATION = `
  select i.organization_id as "organizationId", m.is_admin as "isAdmin", i.email, u.email as "ownEmail"
    from organization_invitation i
    left join organization_member m on m.organization_id = i.organization_id and m.user_id = $2
    left join "user" u on u.user_id = $2
   where i.invitation_id = $1`

type Owners = { organizationId: string; isAdmin: boolean | null; email: string; ownEmail: string | null }

/** Finds the organization of an invitation, and the account with the invited email address, if any. */
const resolveInvitation: Resolve = async (db, invitationId, askingId) => {
  const [row] = await select<Owners>(db, OWNERS_OF_INVITATION, [invitationId, askingId ?? ''])
  if (!row) return undefined
  const { organizationId, isAdmin, email, ownEmail } = row
  const isInvited = askingId !== undefined && ownEmail !== null && isSameEmail(ownEmail, email)
  return { organizationId, rights: rightsOf(isAdmin), ...(isInvited && { userId: askingId }) }
}

/** Finds the owners of the resources of this feature. */
export const owners = {
  organization: resolveOrganization,
  invitation: resolveInvitation,
}

import { select } from '../database/client/connection.ts'
import { isSameEmail } from '../pipeline/email-address.ts'
import { type Resolve, roleOf } from './scope.ts'

const OWNERS_OF_INVITATION = `
  select i.organization_id as "organizationId", m.is_admin as "isAdmin", i.email, u.email as "ownEmail"
    from organization_invitation i
    left join organization_member m on m.organization_id = i.organization_id and m.user_id = $2
    left join "user" u on u.user_id = $2
   where i.invitation_id = $1`

type Owners = { organizationId: string; isAdmin: boolean | null; email: string; ownEmail: string | null }

/** Finds the organization of an invitation, and the account with the invited email address, if any. */
export const resolveInvitation: Resolve = async (db, invitationId, askingId) => {
  const [row] = await select<Owners>(db, OWNERS_OF_INVITATION, [invitationId, askingId ?? ''])
  if (!row) return undefined
  const { organizationId, isAdmin, email, ownEmail } = row
  const isInvited = askingId !== undefined && ownEmail !== null && isSameEmail(ownEmail, email)
  return { organizationId, role: roleOf(isAdmin), ...(isInvited && { userId: askingId }) }
}

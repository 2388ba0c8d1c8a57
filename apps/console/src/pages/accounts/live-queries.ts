import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about accounts that live changes affect. */
export const accountQueries = {
  users_QueryOrganizations: { organizations: null, members: null },
  users_QueryOrganizationInvitations: { invitations: null },
} satisfies LiveQueries<'accounts'>

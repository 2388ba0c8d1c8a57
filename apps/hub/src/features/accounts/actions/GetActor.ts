import { wireActor } from '../../../platform/pipeline/caller.ts'
import type { QueryContext } from '../../../platform/pipeline/command-context.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { users_GetDetails } from './GetDetails.ts'
import { users_QueryOrganizationInvitations } from './QueryOrganizationInvitations.ts'
import { users_QueryOrganizations } from './QueryOrganizations.ts'

/** Returns the identity that the hub derived from the credentials of the call, with the account of a session if the call asks for it. */
export const actor_GetActor = handler('actor_GetActor', async (context, { withAccount = false }) => {
  const { caller } = context
  if (caller.actor !== 'User') return { actor: wireActor(caller) }
  return {
    actor: wireActor(caller),
    sessionId: caller.sessionId as never,
    account: withAccount ? await accountOf(context, caller.userId as never) : undefined,
  }
})

type UserId = Parameters<typeof users_GetDetails>[1]['userId']

/** Answers to the queries with which a console begins. */
async function accountOf(context: QueryContext, userId: UserId) {
  const [details, organizations, invitations] = await Promise.all([
    users_GetDetails(context, { userId }),
    users_QueryOrganizations(context, { userId }),
    users_QueryOrganizationInvitations(context, {
      userId,
      limit: 1,
      cursor: undefined,
      sort: undefined,
      filter: undefined,
    }),
  ])
  return {
    users_GetDetails: details,
    users_QueryOrganizations: organizations,
    users_QueryOrganizationInvitations: invitations,
  }
}

import type { ActionOutput } from '@muster/actions/client'
import { useActionState } from '../../../api/queries.ts'
import { useSession } from '../../../session.ts'

/** The newest invitation of the signed-in user and the total; `undefined` while loading or after a failure. */
export function useInvitations(): ActionOutput<'users_QueryOrganizationInvitations'> | undefined {
  const { userId } = useSession()
  return useActionState('users_QueryOrganizationInvitations', { userId, limit: 1 }).data
}

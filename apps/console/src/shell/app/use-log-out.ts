import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { settleHeld } from '../../lib/app/held-request.ts'
import { settleDeletions } from '../../pages/devices/shared/deletions.ts'
import { endSession, logOut } from '../../session.ts'
import { toastError } from '../../ui/app/toast.ts'
import { forgetRecentPages } from './recent-pages.ts'

/** Logs out at the hub, then leaves the signed-in pages. If the hub refuses, the session stays; if it does not answer, the pages go all the same. */
export function useLogOut(): () => Promise<void> {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    try {
      // Requests that still wait for their undo time need the session, so they are sent and answered before it ends.
      await Promise.all([settleDeletions(queryClient), settleHeld(queryClient)])
      forgetRecentPages()
      await logOut(queryClient)
      await navigate({ to: '/login' })
      endSession(queryClient)
    } catch (error) {
      toastError('Could not log out', error)
    }
  }
}

import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSignedInUserId } from '../../session.ts'

/** A page that the user has left, with the document title that it had. */
export type RecentPage = { path: string; title: string }

const STORED_AS = 'muster.recent'
/** Maximum number of pages that are stored. The search dialog shows at most five of them. */
const MAX_PAGES = 12

type Stored = { userId: string; pages: RecentPage[] }

/** Pages that the user has opened and left in this browser tab, latest first. Empty for another user than the one who left them. */
export function recentPages(userId: string): RecentPage[] {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED_AS) ?? 'null') as Stored | null
    return stored?.userId === userId ? stored.pages : []
  } catch {
    // Storage may be forbidden.
    return []
  }
}

/** Removes all stored pages, at the end of the session. */
export function forgetRecentPages() {
  try {
    sessionStorage.removeItem(STORED_AS)
  } catch {
    // Storage may be forbidden.
  }
}

/** Records the pages that the user leaves. */
export function useRecentPages() {
  const router = useRouter()
  const userId = useSignedInUserId()
  useEffect(() => {
    if (!userId) return
    return router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
      if (!fromLocation || !pathChanged) return
      const page = { path: fromLocation.pathname, title: document.title }
      const others = recentPages(userId).filter(({ path }) => path !== page.path)
      const stored: Stored = { userId, pages: [page, ...others].slice(0, MAX_PAGES) }
      try {
        sessionStorage.setItem(STORED_AS, JSON.stringify(stored))
      } catch {
        // Storage may be forbidden or full.
      }
    })
  }, [router, userId])
}

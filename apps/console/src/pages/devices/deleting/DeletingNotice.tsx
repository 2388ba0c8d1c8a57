import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect } from 'react'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { loadCode } from '../../../lib/load-code.ts'
import { sendAll, showList, undoLast, useDeletions } from '../shared/deletions.ts'

/** An import that fails leaves out the toasts: an error here would unmount the notice, which sends the deletions at once. */
const DeletingToasts = lazy(async () => ({
  default: await loadCode(() => import('./lazy/DeletingToasts.tsx')).then(
    module => module.DeletingToasts,
    () => (_: DeletingNoticeProps) => null,
  ),
}))

type DeletingNoticeProps = { projectId: string; shownIds: readonly string[] }

/**
 * Part of the device list that sends waiting deletions when the user leaves the page. A deletion whose row is not on the page is shown
 * as a toast.
 */
export function DeletingNotice({ projectId, shownIds }: DeletingNoticeProps) {
  const queryClient = useQueryClient()
  useShortcut('z', 'Undo the deletion', undoLast)
  useEffect(() => {
    const hide = showList(projectId)
    const leave = () => sendAll(queryClient)
    clearTimeout(leaving)
    return () => {
      hide()
      // React's strict mode unmounts and mounts again in one task. The new mount cancels this timer, so that nothing is sent.
      leaving = setTimeout(leave)
    }
  }, [projectId, queryClient])

  const isDeleting = useDeletions().some(each => each.projectId === projectId)
  return (
    isDeleting && (
      <Suspense>
        <DeletingToasts projectId={projectId} shownIds={shownIds} />
      </Suspense>
    )
  )
}

let leaving: ReturnType<typeof setTimeout> | undefined

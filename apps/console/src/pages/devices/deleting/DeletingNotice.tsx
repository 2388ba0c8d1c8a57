import { useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { optionalPart } from '../../../lib/app/optional-part.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { sendAll, showList, undoLast, useDeletions } from '../shared/deletions.ts'

const DeletingToasts = optionalPart(async () => (await import('./lazy/DeletingToasts.tsx')).DeletingToasts)

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

import { useQueryClient } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import { useEffect } from 'react'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { Button } from '../../../ui/Button.tsx'
import { DeletingWords, NotDeleted, useSecsLeft } from './DeletingRow.tsx'
import { type Deletion, sendAll, showList, undoDeletion, undoLast, useDeletions } from './deletions.ts'
import '../../../styles/deleting.css'

type DeletingNoticeProps = { projectId: string; shownIds: readonly string[] }

/**
 * Part of the device list that sends waiting deletions when the user leaves the page, and shows those whose row is not on the
 * page as a toast.
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
      // React's strict mode unmounts and mounts again in one task, which is no leave.
      leaving = setTimeout(leave)
    }
  }, [projectId, queryClient])

  const hidden = useDeletions().filter(
    each => each.projectId === projectId && !shownIds.includes(each.deviceId),
  )
  const waiting = hidden.filter(({ state }) => state === 'waiting')
  const refused = hidden.filter(({ state }) => state === 'refused')
  if (waiting.length + refused.length === 0) return null
  return (
    <section className="toasts deleting" aria-label="Deletions">
      {waiting.length > 0 && <WaitingToast waiting={waiting} />}
      {refused.map(deletion => (
        <div key={deletion.deviceId} className="toast bad">
          <div className="grow">
            <strong>{deletion.name}</strong>
            <NotDeleted deletion={deletion} />
          </div>
        </div>
      ))}
    </section>
  )
}

let leaving: ReturnType<typeof setTimeout> | undefined

function WaitingToast({ waiting }: { waiting: readonly Deletion[] }) {
  const first = waiting[0]!
  const secs = useSecsLeft(first)
  return (
    <div className="toast">
      <Trash2 className="i" aria-hidden />
      <div className="grow">
        {waiting.length > 1 ? (
          `Deleting ${waiting.length} devices in ${secs} s.`
        ) : (
          <>
            <s>{first.name}</s> <DeletingWords deletion={first} />
          </>
        )}
      </div>
      <Button
        size="sm"
        onClick={() => {
          for (const { deviceId } of waiting) undoDeletion(deviceId)
        }}
      >
        Undo
      </Button>
    </div>
  )
}

import { Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useSecsLeft } from '../../../../lib/app/undo-time.ts'
import raised from '../../../../ui/app/raised.module.css'
import toaster from '../../../../ui/app/Toaster.module.css'
import { Button } from '../../../../ui/Button.tsx'
import { type Deletion, undoDeletion, useDeletions } from '../../shared/deletions.ts'
import styles from '../deleting.module.css'
import { DeletingWords, NotDeleted, RETURNS } from './DeletingRow.tsx'

type DeletingToastsProps = { projectId: string; shownIds: readonly string[] }

/** Toasts for the deletions whose rows are not on the page. Scrolls to the row of a new deletion that is. */
export function DeletingToasts({ projectId, shownIds }: DeletingToastsProps) {
  const deletions = useDeletions().filter(each => each.projectId === projectId)
  const away = useRowsAway(deletions, shownIds)
  const hidden = deletions.filter(({ deviceId }) => !shownIds.includes(deviceId) || away.includes(deviceId))
  const waiting = hidden.filter(({ state }) => state === 'waiting')
  const refused = hidden.filter(({ state }) => state === 'refused')
  if (waiting.length + refused.length === 0) return null
  return (
    <section className={`${toaster.toasts} ${styles.toasts}`} aria-label="Deletions">
      {waiting.length > 0 && <WaitingToast waiting={waiting} />}
      {refused.map(deletion => (
        <div key={deletion.deviceId} className={`${toaster.toast} ${raised.raised}`} data-tone="bad">
          <div className="grow">
            <strong>{deletion.name}</strong>
            <NotDeleted deletion={deletion} />
          </div>
        </div>
      ))}
    </section>
  )
}

/** Pause, in milliseconds, before the scroll to a row. By then, the router has restored its own scroll position. */
const SCROLL_AFTER_MS = 100

/**
 * Scrolls once to the row of each new deletion, because a deletion on the page of a device then opens the list. Returns the ids of the
 * deleted devices whose row is loaded but not rendered, because it is far away in a long list.
 */
function useRowsAway(deletions: readonly Deletion[], shownIds: readonly string[]): readonly string[] {
  const [away, setAway] = useState<readonly string[]>([])
  const placed = useRef(new Set<string>())
  const next = deletions.find(
    ({ state, deviceId }) =>
      state === 'waiting' && shownIds.includes(deviceId) && !placed.current.has(deviceId),
  )?.deviceId
  useEffect(() => {
    if (next === undefined) return
    const timer = setTimeout(() => {
      placed.current.add(next)
      const row = document.querySelector(`[data-deleting="${CSS.escape(next)}"]`)
      if (row) row.scrollIntoView({ block: 'center' })
      else setAway(before => [...before, next])
    }, SCROLL_AFTER_MS)
    return () => clearTimeout(timer)
  }, [next])
  return away
}

function WaitingToast({ waiting }: { waiting: readonly Deletion[] }) {
  const first = waiting[0]!
  const secs = useSecsLeft(first)
  return (
    <div className={`${toaster.toast} ${raised.raised}`} data-tone="ok">
      <Trash2 className="icon" aria-hidden />
      <div className="grow">
        {waiting.length > 1 ? (
          `Deleting ${waiting.length} devices in ${secs} s.`
        ) : (
          <>
            <s>{first.name}</s> <DeletingWords deletion={first} />
          </>
        )}
        <div className="muted">{RETURNS}</div>
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

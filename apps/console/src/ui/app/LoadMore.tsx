import { useLayoutEffect, useRef } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Button } from '../Button.tsx'

type LoadMoreProps = {
  shown: number
  total: number | undefined
  /** Plural noun for the listed entities, for example "projects". */
  what: string
  busy: boolean
  onClick: () => void
}

/** The line below a list with the button that loads the next page. It disappears when the last page has loaded. */
export function LoadMore({ shown, total, what, busy, onClick }: LoadMoreProps) {
  const foot = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = foot.current
    return () => {
      if (element?.contains(document.activeElement)) setTimeout(focusEnd, 0, element.previousElementSibling)
    }
  }, [])
  return (
    <div ref={foot} className="list-foot">
      <span>
        {formatCount(shown)}
        {total !== undefined && ` of ${formatCount(total)}`} {what}
      </span>
      <Button busy={busy} busyLabel="Loading…" onClick={onClick}>
        Load more
      </Button>
    </div>
  )
}

/** Moves the focus to the last row of the list after the focused button has disappeared. */
function focusEnd(list: Element | null) {
  const last = [...(list?.querySelectorAll<HTMLElement>('tr[role=row], [data-card]') ?? [])].at(-1)
  if (!last) return void focusHeading()
  last.tabIndex = -1
  last.focus({ preventScroll: true })
}

import { createContext, type ReactNode, useContext, useState } from 'react'
import { useNow } from '../../lib/app/clock.ts'
import { absoluteTime, cellTime, relativeTime } from '../../lib/app/relative-time.ts'

const Together = createContext<{ isAbsolute: boolean; toggle: () => void } | undefined>(undefined)

/** Inside `TimesTogether`, a click on any `Time` switches all of them between relative and absolute times. */
export function TimesTogether({ children }: { children: ReactNode }) {
  const [isAbsolute, setAbsolute] = useState(false)
  const toggle = () => setAbsolute(now => !now)
  return <Together value={{ isAbsolute, toggle }}>{children}</Together>
}

/** A point in time as "3 minutes ago". The tooltip shows UTC and local time. */
export function Time({ at }: { at: string }) {
  const nowMs = useNow()
  const together = useContext(Together)
  const atMs = Date.parse(at)
  const tip = absoluteTime(atMs)
  if (!together)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip must be reachable by keyboard
      <time dateTime={at} data-tip={tip} tabIndex={0}>
        {relativeTime(atMs, nowMs)}
      </time>
    )
  return (
    <button type="button" className="moment" data-tip={tip} onClick={together.toggle}>
      <time dateTime={at}>{together.isAbsolute ? cellTime(atMs) : relativeTime(atMs, nowMs)}</time>
    </button>
  )
}

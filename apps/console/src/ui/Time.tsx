import { createContext, type ReactNode, useContext, useState } from 'react'
import { useNow } from '../lib/clock.ts'
import { absoluteTime, cellTime, relativeTime } from '../lib/relative-time.ts'

const Together = createContext<{ isAbsolute: boolean; toggle: () => void } | undefined>(undefined)

/** Times inside change together at a click on any of them: how long ago, or when. */
export function TimesTogether({ children }: { children: ReactNode }) {
  const [isAbsolute, setAbsolute] = useState(false)
  const toggle = () => setAbsolute(now => !now)
  return <Together value={{ isAbsolute, toggle }}>{children}</Together>
}

/** A moment as "3 minutes ago"; UTC and local time show on hover and on focus. */
export function Time({ at }: { at: string }) {
  const nowMs = useNow()
  const together = useContext(Together)
  const atMs = Date.parse(at)
  const tip = absoluteTime(atMs)
  if (!together)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its tooltip must be reachable by keyboard
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

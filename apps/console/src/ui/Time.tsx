import { useNow } from '../lib/clock.ts'
import { absoluteTime, relativeTime } from '../lib/relative-time.ts'

/** A moment as "3 minutes ago"; UTC and local time show on hover and on focus. */
export function Time({ at }: { at: string }) {
  const nowMs = useNow()
  const atMs = Date.parse(at)
  return (
    <time
      dateTime={at}
      data-tip={absoluteTime(atMs)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its tooltip must be reachable by keyboard
      tabIndex={0}
    >
      {relativeTime(atMs, nowMs)}
    </time>
  )
}

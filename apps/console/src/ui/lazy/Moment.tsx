import { useNow } from '../../lib/app/clock.ts'
import { momentInWords, sinceInWords } from '../../lib/app/local-time.ts'
import { absoluteTime } from '../../lib/app/relative-time.ts'

type MomentProps = {
  at: string
  /** Uses the form that follows the word "since": "14:02", "22 November, 14:02". */
  isSince?: boolean
}

/**
 * A point in time as a part of a sentence: "today, 13:58", "on Sunday 22 November, 02:14". The tooltip shows UTC and local time.
 */
export function Moment({ at, isSince = false }: MomentProps) {
  const nowMs = useNow()
  const atMs = Date.parse(at)
  const { on, text } = isSince ? { on: '', text: sinceInWords(atMs, nowMs) } : momentInWords(atMs, nowMs)
  return (
    <>
      {on}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip must be reachable by keyboard */}
      <time dateTime={at} data-tip={absoluteTime(atMs)} tabIndex={0}>
        {text}
      </time>
    </>
  )
}

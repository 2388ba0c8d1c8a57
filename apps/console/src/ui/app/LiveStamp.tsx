import { useState } from 'react'
import { useLostHub } from '../../api/lost-hub.ts'
import { useNow } from '../../lib/app/clock.ts'
import { relativeTime, shortAge } from '../../lib/app/relative-time.ts'
import styles from './LiveStamp.module.css'
import { useMissing } from './use-missing.ts'

type LiveStampProps = {
  /** Time at which the data on screen arrived, in milliseconds since 1970; 0 keeps the room of the text until the data has arrived. */
  updatedAt: number
  /** Time of the last failed refresh, in milliseconds since 1970; 0 or absent if no refresh has failed. */
  failedAt?: number
}

/**
 * A text such as "Updated 12 s ago", "Last update 12 s ago" while the connection to the hub is lost, or a warning that the last refresh failed
 * or what the page lacks. Screen readers announce only the failure and its end.
 */
export function LiveStamp({ updatedAt, failedAt = 0 }: LiveStampProps) {
  const nowMs = useNow()
  const missing = useMissing()
  const isLost = useLostHub() !== undefined
  const isFailing = failedAt > updatedAt || missing !== ''
  const [hasFailed, setHasFailed] = useState(false)
  if (isFailing && !hasFailed) setHasFailed(true)
  if (updatedAt === 0 && !isFailing)
    return (
      <span className={`live ${styles.toCome}`} aria-hidden="true">
        <i />
        Updated just now
      </span>
    )
  return (
    <span className="live" data-failing={isFailing || undefined}>
      <i aria-hidden="true" />
      {failedAt > updatedAt
        ? `Last update failed ${inWords(failedAt, nowMs)}`
        : missing
          ? `Could not load: ${missing}`
          : isLost
            ? `Last update ${shortAge(updatedAt, nowMs)} ago`
            : `Updated ${inShort(updatedAt, nowMs)}`}
      <span className="visually-hidden" role="status">
        {hasFailed && (isFailing ? 'Updates are failing.' : 'Updates work again.')}
      </span>
    </span>
  )
}

/** A warning that says what the page lacks, for pages without `LiveStamp`; nothing if it lacks nothing. */
export function MissingStamp() {
  return useMissing() !== '' && <LiveStamp updatedAt={0} />
}

function inShort(atMs: number, nowMs: number): string {
  return nowMs - atMs < 5000 ? 'just now' : `${shortAge(atMs, nowMs)} ago`
}

function inWords(atMs: number, nowMs: number): string {
  const words = relativeTime(atMs, nowMs)
  return words === 'now' ? 'just now' : words
}

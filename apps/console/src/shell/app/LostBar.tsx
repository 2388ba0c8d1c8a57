import { useEffect, useState } from 'react'
import { tryNow } from '../../api/app/retry-hub.ts'
import { type LostHub, useLostHub } from '../../api/lost-hub.ts'
import { formatDuration, ordinal } from '../../lib/app/format.ts'
import { clockTime } from '../../lib/app/local-time.ts'
import { Button } from '../../ui/Button.tsx'
import { Spinner } from '../../ui/Spinner.tsx'
import styles from './LostBar.module.css'

const BACK_SHOWN_MS = 5_000

/**
 * Bar on every signed-in page while the connection to the hub is lost. It shows the time of the loss and of the next attempt to reconnect.
 * When the connection is back, the bar says so for 5 s.
 */
export function LostBar() {
  const lost = useLostHub()
  const [backAtMs, setBackAtMs] = useState<number>()
  const [wasLost, setWasLost] = useState(false)
  if (lost !== undefined && !wasLost) {
    setWasLost(true)
    setBackAtMs(undefined)
  } else if (lost === undefined && wasLost) {
    setWasLost(false)
    setBackAtMs(Date.now())
  }
  useEffect(() => {
    if (backAtMs === undefined) return
    const timer = setTimeout(() => setBackAtMs(undefined), BACK_SHOWN_MS)
    return () => clearTimeout(timer)
  }, [backAtMs])
  useEffect(() => {
    document.documentElement.toggleAttribute('data-stale', lost !== undefined)
  }, [lost])

  const since = lost && clockTime(lost.lostAtMs)
  return (
    <section
      aria-label="Connection to the hub"
      className={
        lost
          ? `row ${styles.bar}`
          : backAtMs === undefined
            ? undefined
            : `row ${styles.bar} ${styles.restored}`
      }
    >
      {lost && <Spinner />}
      <p>
        <span role="status">
          {lost && (
            <>
              <b>
                {lost.proxyStatus
                  ? `The hub could not be reached through its proxy (${lost.proxyStatus}).`
                  : `Connection to the hub lost at ${since}.`}
              </b>{' '}
              What you see is from {lost.proxyStatus ? since : 'then'}
              <span className="hidden-on-phones"> and may have changed</span>.
            </>
          )}
          {backAtMs !== undefined && `Connected again. Updated ${clockTime(backAtMs)}.`}
        </span>
        {lost && <Clock {...lost} />}
      </p>
      {lost && (
        <Button size="sm" onClick={tryNow}>
          Try now
        </Button>
      )}
    </section>
  )
}

/**
 * Age of the data on screen, and time until the next attempt to reconnect. Both are outside of the live region, so that screen readers
 * do not read them every second.
 */
function Clock({ lostAtMs, nextTryAtMs, attempts }: LostHub) {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  const ageSecs = Math.max(0, (nowMs - lostAtMs) / 1000)
  const secs = Math.max(0, Math.ceil((nextTryAtMs - nowMs) / 1000))
  const next = secs > 0 ? `Next try in ${secs} s` : 'Trying now'
  return (
    <>
      {` It is ${formatDuration(ageSecs)} old. ${next}`}
      <span className="hidden-on-phones">, the {ordinal(attempts + 1)}</span>.
    </>
  )
}

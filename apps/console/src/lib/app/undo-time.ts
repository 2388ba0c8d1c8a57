import { useEffect, useState } from 'react'
import { askedByNow } from '../../session.ts'

/** The click that asked for a deletion. The deletion is sent 10 s later, unless it is undone. */
export type Click = {
  /** User and session at the time of the click. The hub refuses the deletion if the request comes from another session. */
  askedBy: ReturnType<typeof askedByNow>
  /** `Date.now()` and `performance.now()` at the click. */
  askedAtMs: number
  askedAtTick: number
}

/** Time for which a deletion can be undone, in milliseconds. */
export const UNDO_MS = 10_000
/**
 * Maximum age of a click whose deletion is still sent. If the machine slept for longer after the click, the user has left and the fleet may
 * have changed.
 */
const TOO_LATE_MS = 60_000

/** Records a click with the present user, session and time. */
export function clickNow(): Click {
  return { askedBy: askedByNow(), askedAtMs: Date.now(), askedAtTick: performance.now() }
}

/**
 * Milliseconds since the click. `performance.now()` may stop while the machine sleeps, and `Date.now()` can be set, so the larger age
 * counts.
 */
export function ageMs({ askedAtMs, askedAtTick }: Click): number {
  return Math.max(Date.now() - askedAtMs, performance.now() - askedAtTick)
}

/** The reason why a deletion must not be sent any more; `undefined` while it may be sent. */
export function tooLate(click: Click): Error | undefined {
  if (ageMs(click) <= TOO_LATE_MS) return undefined
  return new Error('The page slept for more than a minute after the click. Nothing was sent.')
}

/** Whole seconds until a deletion is sent, at least 0. */
export function useSecsLeft(click: Click): number {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick(tick => tick + 1), 250)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, Math.ceil((UNDO_MS - ageMs(click)) / 1000))
}

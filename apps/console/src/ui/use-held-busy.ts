import { useEffect, useState } from 'react'

const MIN_BUSY_MS = 300
/** Work that is over sooner, such as a failed check of a form, is not shown at all. */
const IGNORED_MS = 30

/** Whether to show that work is under way: for at least 300 ms, so that a fast answer does not flash. */
export function useHeldBusy(busy: boolean): boolean {
  const [held, setHeld] = useState(false)
  useEffect(() => {
    const timer = setTimeout(setHeld, busy ? IGNORED_MS : MIN_BUSY_MS, busy)
    return () => clearTimeout(timer)
  }, [busy])
  return held
}

import { useEffect, useState } from 'react'

const MIN_BUSY_MS = 300
/** Work that is shorter than this time, such as a failed form validation, is not shown as busy. */
const IGNORED_MS = 30

/** Whether to show a busy state. It lasts at least 300 ms, so that a fast answer does not flicker. */
export function useShownBusy(busy: boolean): boolean {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(setShown, busy ? IGNORED_MS : MIN_BUSY_MS, busy)
    return () => clearTimeout(timer)
  }, [busy])
  return isShown
}

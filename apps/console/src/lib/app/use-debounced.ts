import { useEffect, useState } from 'react'

/** The last value that stayed unchanged for `delayMs` milliseconds. */
export function useDebounced<T>(value: T, delayMs = 200): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(setSettled, delayMs, value)
    return () => clearTimeout(timer)
  }, [value, delayMs])
  return settled
}

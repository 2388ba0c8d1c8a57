import { useCallback, useLayoutEffect, useRef } from 'react'

/** A function that stays the same and calls the one of the last render, for memoized components. Not for use while rendering. */
export function useStable<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
): (...args: Args) => Result {
  const latest = useRef(run)
  useLayoutEffect(() => {
    latest.current = run
  })
  return useCallback((...args: Args) => latest.current(...args), [])
}

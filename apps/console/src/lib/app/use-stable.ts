import { useCallback, useLayoutEffect, useRef } from 'react'

/**
 * Returns the same function object in every render, so that passing it to a memoized component does not render the component again. It
 * calls the `run` of the latest render and must not be called while rendering.
 */
export function useStable<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
): (...args: Args) => Result {
  const latest = useRef(run)
  useLayoutEffect(() => {
    latest.current = run
  })
  return useCallback((...args: Args) => latest.current(...args), [])
}

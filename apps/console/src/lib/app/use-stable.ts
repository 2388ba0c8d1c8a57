import { useCallback, useLayoutEffect, useRef } from 'react'

/**
 * A function that keeps its identity and calls the `run` of the last render, for props of memoized components. It must not be called while
 * rendering.
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

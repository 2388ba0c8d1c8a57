import { useState } from 'react'
import { afterPaint } from './after-paint.ts'

/**
 * Value that a control shows, and a function that changes it. The control shows a new value immediately. `onChange` runs after the
 * paint, with the event that was passed to the function.
 */
export function useShownFirst<T>(
  value: T,
  onChange: (value: T, event: unknown) => void,
): [T, (value: T, event?: unknown) => void] {
  const [shown, setShown] = useState({ value, of: value })
  if (shown.of !== value) setShown({ value, of: value })
  return [
    shown.value,
    (chosen, event) => {
      setShown({ value: chosen, of: value })
      afterPaint(() => onChange(chosen, event))
    },
  ]
}

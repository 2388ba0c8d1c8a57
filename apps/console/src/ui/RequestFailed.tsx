import { useEffect, useRef } from 'react'
import { Alert } from './Alert.tsx'
import { ErrorText } from './ErrorText.tsx'

/** Error box of a public form after a failed request (docs/specification.md 8). It takes the focus. */
export function RequestFailed({ error }: { error: unknown }) {
  const box = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new failure takes the focus again
  useEffect(() => box.current?.focus(), [error])
  return (
    <Alert ref={box} tone="bad" title="An Error Occurred">
      Please try again later. <ErrorText error={error} />
    </Alert>
  )
}

import { useEffect, useRef } from 'react'
import { Alert } from './Alert.tsx'
import { ErrorText } from './ErrorText.tsx'

/** The box of a public form whose request failed (spec 8); the focus moves to it. */
export function RequestFailed({ error }: { error: unknown }) {
  const box = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each failure asks for attention
  useEffect(() => box.current?.focus(), [error])
  return (
    <Alert ref={box} tone="bad" title="An Error Occurred">
      Please try again later. <ErrorText error={error} />
    </Alert>
  )
}

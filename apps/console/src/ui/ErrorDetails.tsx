import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { Button } from './Button.tsx'
import { Code } from './Code.tsx'

type ErrorDetailsProps = {
  error: unknown
  /** Button or link beside the button "Show Error". */
  children: ReactNode
}

/**
 * Buttons of an error page. The button "Show Error" reveals the message. Failed queries are reset, so that the next page
 * that needs them runs them again.
 */
export function ErrorDetails({ error, children }: ErrorDetailsProps) {
  const { reset } = useQueryErrorResetBoundary()
  const [isShown, setShown] = useState(false)
  useEffect(() => reset(), [reset])
  return (
    <>
      <div className="wrap">
        {children}
        <Button aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide Error' : 'Show Error'}
        </Button>
      </div>
      {isShown && <Code text={textOf(error)} label="Copy error" />}
    </>
  )
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const requestId = 'requestId' in error && error.requestId ? `\nRequest ${String(error.requestId)}` : ''
  return `${error.name}: ${error.message}${requestId}`
}

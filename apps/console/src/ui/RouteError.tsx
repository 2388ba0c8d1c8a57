import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { RefreshCw, TriangleAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from './Button.tsx'
import { Code } from './Code.tsx'
import { LoginLink } from './ErrorText.tsx'
import { isSignedOut } from './is-signed-out.ts'
import { Main } from './Main.tsx'
import { Title } from './Title.tsx'

/** What a route shows that failed: the error on demand, and Try again. */
export function RouteError({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const router = useRouter()
  const { reset: resetQueries } = useQueryErrorResetBoundary()
  const [isShown, setShown] = useState(false)
  useEffect(() => resetQueries(), [resetQueries])

  const tryAgain = () => {
    reset()
    void router.invalidate()
  }
  return (
    <Main>
      <div className="wide">
        <Title page="Something went wrong!" />
        <div className="sheet panel" role="alert">
          <div className="ico bad">
            <TriangleAlert className="i" aria-hidden />
          </div>
          <h1 tabIndex={-1}>Something went wrong!</h1>
          {isSignedOut(error) && (
            <p>
              Your session has ended.
              <LoginLink />
            </p>
          )}
          <div className="lay">
            <Button variant="primary" icon={RefreshCw} onClick={tryAgain}>
              Try again
            </Button>
            <Button aria-expanded={isShown} onClick={() => setShown(!isShown)}>
              {isShown ? 'Hide Error' : 'Show Error'}
            </Button>
          </div>
          {isShown && <Code text={textOf(error)} label="Copy error" />}
        </div>
      </div>
    </Main>
  )
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const requestId = 'requestId' in error && error.requestId ? `\nRequest ${String(error.requestId)}` : ''
  return `${error.name}: ${error.message}${requestId}`
}

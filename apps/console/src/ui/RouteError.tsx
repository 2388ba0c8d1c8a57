import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { RefreshCw, TriangleAlert } from 'lucide-react'
import { Button } from './Button.tsx'
import { ErrorDetails } from './ErrorDetails.tsx'
import { LoginLink } from './ErrorText.tsx'
import { isSignedOut } from './is-signed-out.ts'
import { Main } from './Main.tsx'
import { Title } from './Title.tsx'

/** Error page of a route, with the buttons "Show Error" and "Try again". */
export function RouteError({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const router = useRouter()
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
          <ErrorDetails error={error}>
            <Button variant="primary" icon={RefreshCw} onClick={tryAgain}>
              Try again
            </Button>
          </ErrorDetails>
        </div>
      </div>
    </Main>
  )
}

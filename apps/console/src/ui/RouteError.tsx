import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { RefreshCw, TriangleAlert } from 'lucide-react'
import { Button } from './Button.tsx'
import { ErrorDetails } from './ErrorDetails.tsx'
import { LoginLink } from './ErrorText.tsx'
import { isSignedOut } from './is-signed-out.ts'
import { Main } from './Main.tsx'
import { ResultIcon } from './Result.tsx'
import styles from './RouteError.module.css'
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
      <div className="page" data-width="grid">
        <Title page="Something went wrong!" />
        <div className={`sheet ${styles.panel}`} role="alert">
          <ResultIcon tone="bad" icon={TriangleAlert} />
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

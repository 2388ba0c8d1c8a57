import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'
import { useMailedLink } from './use-mailed-link.ts'
import styles from './VerifyPage.module.css'

/** Time from the success message to the redirect to the sign-in page (docs/specification.md 9). */
const REDIRECT_MS = 4000

const route = getRouteApi('/signup/verify')

/** Page that the mailed sign-up link opens. Activates the account, then redirects to the sign-in page. */
export function VerifyPage() {
  const { jwt = '' } = route.useSearch()
  const { data, error } = useMailedLink('users_CompleteRegistration', { activationToken: jwt })
  return (
    <AuthLayout>
      <div role="status">
        {data?.result === 'Completed' && <Activated />}
        {((data && data.result !== 'Completed') || error) && (
          <Failed>
            {error ? <ErrorText error={error} /> : 'Your account may have already been activated.'}
          </Failed>
        )}
        {!data && !error && <Activating />}
      </div>
    </AuthLayout>
  )
}

function Activating() {
  return (
    <Result art={<ResultIcon isTurning />} title="Activating Account">
      This takes a moment.
    </Result>
  )
}

function Activated() {
  const navigate = useNavigate()
  useEffect(() => {
    const timer = setTimeout(() => void navigate({ to: '/login', replace: true }), REDIRECT_MS)
    return () => clearTimeout(timer)
  }, [navigate])
  return (
    <Result
      art={<ResultIcon tone="ok" />}
      title="Account Activated"
      action={
        <>
          <Countdown durationMs={REDIRECT_MS} />
          <Link to="/login" replace>
            Log in now
          </Link>
        </>
      }
    >
      Taking you to the login page.
    </Result>
  )
}

function Failed({ children }: { children: ReactNode }) {
  return (
    <Result
      art={<ResultIcon tone="bad" />}
      title="Account Activation Failed"
      action={<LinkButton to="/login">Log in</LinkButton>}
    >
      {children}
    </Result>
  )
}

/** A thin line that shrinks to nothing over `durationMs`. With reduced motion it does not shrink. */
function Countdown({ durationMs }: { durationMs: number }) {
  return (
    <div className={styles.countdown} style={{ animationDuration: `${durationMs}ms` }} aria-hidden="true" />
  )
}

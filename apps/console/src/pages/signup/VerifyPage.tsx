import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { CircleCheck, CircleX, LoaderCircle } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { invoke } from '../../api/client.ts'
import { AuthLayout } from '../../ui/AuthLayout.tsx'
import { Countdown } from '../../ui/Countdown.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** How long the good news stands before the sign-in form takes its place (spec 9). */
const REDIRECT_MS = 4000

const route = getRouteApi('/signup/verify')

/** The address in the mail of a sign-up: activates the account, then leads to the sign-in form. */
export function VerifyPage() {
  const { jwt = '' } = route.useSearch()
  const { data, error } = useActivation(jwt)
  return (
    <AuthLayout>
      <div role="status">
        {data?.result === 'Completed' && <Activated />}
        {(data?.result === 'Failed' || error) && (
          <Failed>
            {error ? <ErrorText error={error} /> : 'Your account may have already been activated.'}
          </Failed>
        )}
        {!data && !error && <Activating />}
      </div>
    </AuthLayout>
  )
}

/**
 * Sends the token. It is a command that works once, so it runs once for each token, whatever renders or mounts again; a page that
 * is loaded anew asks the hub anew.
 */
function useActivation(activationToken: string) {
  return useQuery({
    queryKey: ['users_CompleteRegistration', activationToken],
    queryFn: () => invoke('users_CompleteRegistration', { activationToken }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    retry: false,
    retryOnMount: false,
    refetchOnMount: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
}

function Activating() {
  return (
    <Result art={<ResultIcon icon={LoaderCircle} isTurning />} title="Activating Account">
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
      art={<ResultIcon icon={CircleCheck} tone="ok" />}
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
      art={<ResultIcon icon={CircleX} tone="bad" />}
      title="Account Activation Failed"
      action={<LinkButton to="/login">Log in</LinkButton>}
    >
      {children}
    </Result>
  )
}

import { getRouteApi } from '@tanstack/react-router'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'
import { useMailedLink } from './use-mailed-link.ts'

const route = getRouteApi('/confirm-email')

const REFUSED = {
  InvalidToken: 'The link has expired, was used already, or a newer link was mailed since.',
  EmailAlreadyExists: 'Another account has this address.',
}

/**
 * Page that the mailed link to a new address opens: the address becomes that of the account. Without a link it is a placeholder
 * (docs/specification.md 2).
 */
export function ConfirmEmailPage() {
  const { jwt } = route.useSearch()
  return (
    <AuthLayout>
      {jwt ? (
        <div role="status">
          <Confirmation jwt={jwt} />
        </div>
      ) : (
        <Result
          art={<ResultIcon />}
          title="Confirm Email"
          action={<LinkButton to="/login">Log in</LinkButton>}
        >
          There is nothing to do on this page.
        </Result>
      )}
    </AuthLayout>
  )
}

function Confirmation({ jwt }: { jwt: string }) {
  const { data, error } = useMailedLink('users_CompleteEmailChange', { token: jwt })
  if (data?.result === 'Completed')
    return (
      <Result
        art={<ResultIcon tone="ok" />}
        title="Address Changed"
        action={<LinkButton to="/settings/profile">Open your profile</LinkButton>}
      >
        From now on you log in with this address.
      </Result>
    )
  if (data || error)
    return (
      <Result
        art={<ResultIcon tone="bad" />}
        title="Address Not Changed"
        action={<LinkButton to="/settings/profile">Open your profile</LinkButton>}
      >
        {data ? REFUSED[data.result] : <ErrorText error={error} />}
      </Result>
    )
  return (
    <Result art={<ResultIcon isTurning />} title="Changing Address">
      This takes a moment.
    </Result>
  )
}

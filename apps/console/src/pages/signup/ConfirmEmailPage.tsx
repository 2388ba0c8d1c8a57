import { Mail } from 'lucide-react'
import { AuthLayout } from '../../ui/AuthLayout.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** A placeholder (spec 2): nothing leads here. */
export function ConfirmEmailPage() {
  return (
    <AuthLayout>
      <Result
        art={<ResultIcon icon={Mail} />}
        title="Confirm Email"
        action={<LinkButton to="/login">Log in</LinkButton>}
      >
        There is nothing to do on this page.
      </Result>
    </AuthLayout>
  )
}

import { LinkButton } from '../../ui/LinkButton.tsx'
import { AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** Placeholder page (docs/specification.md 2). No other page links to it. */
export function ConfirmEmailPage() {
  return (
    <AuthLayout>
      <Result art={<ResultIcon />} title="Confirm Email" action={<LinkButton to="/login">Log in</LinkButton>}>
        There is nothing to do on this page.
      </Result>
    </AuthLayout>
  )
}

import { Construction } from 'lucide-react'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** Page in place of a form for a new password. It says that this feature is not available yet (docs/specification.md 2). */
export function ResetPasswordPage() {
  return (
    <AuthLayout>
      <Result
        art={<ResultIcon icon={Construction} />}
        title="Under Construction"
        action={<LinkButton to="/login">Log in</LinkButton>}
      >
        This feature is currently under construction and will be available soon.
      </Result>
    </AuthLayout>
  )
}

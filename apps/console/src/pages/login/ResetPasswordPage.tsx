import { Construction } from 'lucide-react'
import { AuthLayout } from '../../ui/AuthLayout.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** Placeholder for resetting a password (docs/product.md 2). */
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

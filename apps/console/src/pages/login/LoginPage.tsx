import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { bindChecked, bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { safeRedirect } from '../../lib/redirect.ts'
import { logIn } from '../../session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { AuthHead, AuthLayout, AuthLine } from '../../ui/lazy/AuthLayout.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'

const route = getRouteApi('/login')

/** The sign-in page. It shows the form even to signed-in users. */
export function LoginPage() {
  const { redirect = '' } = route.useSearch()
  const router = useRouter()
  const queryClient = useQueryClient()
  const [failures, setFailures] = useState(0)
  const errorBox = useRef<HTMLDivElement>(null)
  const form = useTextForm({
    defaultValues: { email: '', password: '', rememberMe: false as boolean },
    validate: ({ email, password }) => ({
      email: email.trim() ? undefined : 'Please enter your email address.',
      password: password.trim() ? undefined : 'Please enter your password.',
    }),
    submit: async ({ email, password, rememberMe }) => {
      try {
        await logIn(queryClient, { email: email.trim(), password, rememberMe })
      } catch {
        // All failures show the same text (docs/specification.md 8).
        setFailures(count => count + 1)
        return
      }
      router.history.push(safeRedirect(redirect))
    },
  })
  useEffect(() => {
    if (failures > 0) errorBox.current?.focus()
  }, [failures])

  return (
    <AuthLayout>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <AuthHead title="Log in">
          New here? <Link to="/signup/">Create an account</Link>
        </AuthHead>
        {failures > 0 && (
          <Alert key={failures} ref={errorBox} tone="bad" title="Error">
            Invalid username or password!
          </Alert>
        )}
        <form.Field name="email">
          {field => (
            <TextField
              label="Email"
              type="email"
              size="lg"
              required
              autoComplete="username"
              autoCapitalize="off"
              spellCheck={false}
              {...bindText(field)}
            />
          )}
        </form.Field>
        <form.Field name="password">
          {field => (
            <PasswordField
              label="Password"
              size="lg"
              required
              autoComplete="current-password"
              {...bindText(field)}
            />
          )}
        </form.Field>
        <AuthLine>
          <form.Field name="rememberMe">
            {field => <Checkbox label="Remember me" {...bindChecked(field)} />}
          </form.Field>
          <Link to="/reset-password">Reset password</Link>
        </AuthLine>
        <SubmitButton form={form} size="lg" busyLabel="Logging in…">
          Log in
        </SubmitButton>
      </form>
    </AuthLayout>
  )
}

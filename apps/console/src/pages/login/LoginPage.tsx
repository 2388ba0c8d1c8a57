import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { focusInvalid } from '../../lib/focus-invalid.ts'
import { safeRedirect } from '../../lib/redirect.ts'
import { logIn } from '../../session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { AuthHead, AuthLayout, AuthLine } from '../../ui/lazy/AuthLayout.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { type Credentials, NO_CREDENTIALS, useReplacedStaticForm } from './static-form.ts'

const route = getRouteApi('/login')

/**
 * The sign-in page. It shows the form even to signed-in users. Its form does without the library of forms, which would be an eighth of what
 * this page loads.
 */
export function LoginPage() {
  const { redirect = '' } = route.useSearch()
  const router = useRouter()
  const queryClient = useQueryClient()
  const [credentials, setCredentials] = useState(NO_CREDENTIALS)
  const [isChecked, setChecked] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failures, setFailures] = useState(0)
  const errorBox = useRef<HTMLDivElement>(null)
  const element = useRef<HTMLFormElement>(null)
  const problems = problemsOf(credentials)
  const shown: Partial<typeof problems> = isChecked ? problems : {}
  const isInvalid = problems.email !== undefined || problems.password !== undefined

  useReplacedStaticForm(element, setCredentials)
  useEffect(() => {
    if (failures > 0) errorBox.current?.focus()
  }, [failures])

  const change = (changed: Partial<Credentials>) => setCredentials(before => ({ ...before, ...changed }))

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    setChecked(true)
    if (isInvalid) focusInvalid(event.currentTarget)
    if (isInvalid || isBusy) return
    setBusy(true)
    try {
      await logIn(queryClient, { ...credentials, email: credentials.email.trim() })
      router.history.push(safeRedirect(redirect))
    } catch {
      // All failures show the same text (docs/specification.md 8).
      setFailures(count => count + 1)
    } finally {
      setBusy(false)
    }
  }

  return (
    <AuthLayout>
      <form ref={element} noValidate onSubmit={event => void submit(event)}>
        <AuthHead title="Log in">
          New here? <Link to="/signup/">Create an account</Link>
        </AuthHead>
        {failures > 0 && (
          <Alert key={failures} ref={errorBox} tone="bad" title="Error">
            Invalid username or password!
          </Alert>
        )}
        <TextField
          label="Email"
          name="email"
          type="email"
          size="lg"
          required
          autoComplete="username"
          autoCapitalize="off"
          spellCheck={false}
          value={credentials.email}
          onChange={email => change({ email })}
          error={shown.email}
        />
        <PasswordField
          label="Password"
          name="password"
          size="lg"
          required
          autoComplete="current-password"
          value={credentials.password}
          onChange={password => change({ password })}
          error={shown.password}
        />
        <AuthLine>
          <Checkbox
            label="Remember me"
            name="rememberMe"
            checked={credentials.rememberMe}
            onChange={rememberMe => change({ rememberMe })}
          />
          <Link to="/reset-password">Reset password</Link>
        </AuthLine>
        <Button
          type="submit"
          variant="primary"
          size="lg"
          disabled={isChecked && isInvalid}
          busy={isBusy}
          busyLabel="Logging in…"
        >
          Log in
        </Button>
      </form>
    </AuthLayout>
  )
}

function problemsOf({ email, password }: Credentials) {
  return {
    email: email.trim() ? undefined : 'Please enter your email address.',
    password: password.trim() ? undefined : 'Please enter your password.',
  }
}

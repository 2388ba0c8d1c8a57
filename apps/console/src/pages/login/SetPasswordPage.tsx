import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { invoke } from '../../api/client.ts'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { focusHeading } from '../../lib/focus-heading.ts'
import { newPasswordErrors } from '../../lib/rules.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { AuthHead, AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { RequestFailed } from '../../ui/RequestFailed.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

const route = getRouteApi('/set-password')

type Outcome = ActionOutput<'users_CompletePasswordReset'>['result']

/**
 * Page for the mailed link with which a user sets a password. Sends the token from the URL and the new password to the hub
 * (docs/decisions.md, "Actions and audit").
 */
export function SetPasswordPage() {
  const [outcome, setOutcome] = useState<Outcome>()
  return (
    <AuthLayout>
      {outcome ? <SetPasswordResult outcome={outcome} /> : <SetPasswordForm onDone={setOutcome} />}
    </AuthLayout>
  )
}

function SetPasswordForm({ onDone }: { onDone: (outcome: Outcome) => void }) {
  const { jwt = '' } = route.useSearch()
  const [error, setError] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { password: '', confirmation: '' },
    validate: newPasswordErrors,
    submit: async ({ password }) => {
      const { result } = await invoke('users_CompletePasswordReset', { resetToken: jwt, password })
      onDone(result)
    },
    onFailure: setError,
  })
  return (
    <form noValidate onSubmit={event => void submitForm(event, form)}>
      <AuthHead title="Set password">
        Choose the password of your account, or <Link to="/login">log in</Link>.
      </AuthHead>
      {error !== undefined && <RequestFailed error={error} />}
      <form.Field name="password">
        {field => (
          <PasswordField
            label="New password"
            size="lg"
            required
            autoComplete="new-password"
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="confirmation">
        {field => (
          <PasswordField
            label="Confirm password"
            size="lg"
            required
            autoComplete="new-password"
            {...bindText(field)}
          />
        )}
      </form.Field>
      <SubmitButton form={form} size="lg" busyLabel="Saving…">
        Set password
      </SubmitButton>
    </form>
  )
}

function SetPasswordResult({ outcome }: { outcome: Outcome }) {
  // The focused form has disappeared, so the heading takes the focus.
  useEffect(() => focusHeading(), [])
  if (outcome === 'Completed') {
    return (
      <Result
        art={<ResultIcon tone="ok" />}
        title="Password set"
        action={
          <LinkButton to="/login" variant="primary">
            Log in
          </LinkButton>
        }
      >
        You can log in with your new password.
      </Result>
    )
  }
  return (
    <Result
      art={<ResultIcon tone="bad" />}
      title="Link cannot be used"
      action={<LinkButton to="/login">Log in</LinkButton>}
    >
      It has been used already or is too old. Ask an administrator of this instance to send you a new one.
    </Result>
  )
}

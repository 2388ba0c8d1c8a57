import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { actionQuery } from '../../api/queries.ts'
import { bindChecked, bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { isEmail, newPasswordErrors } from '../../lib/rules.ts'
import { PrivacyLink, TermsLink } from '../../shell/LegalLinks.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { AuthHead, AuthLayout } from '../../ui/lazy/AuthLayout.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { RequestFailed } from '../../ui/RequestFailed.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { SignupResult } from './SignupResult.tsx'

type Outcome = { result: ActionOutput<'users_Register'>['result']; email: string }

type Invitation = ActionOutput<'organizations_GetInvitation'>

/** The sign-up page. The result replaces the form. A link of an invitation fills in the address, and gives no right. */
export function SignupPage() {
  const { invitation: linkId } = useSearch({ strict: false })
  const [outcome, setOutcome] = useState<Outcome>()
  const { data, isLoading } = useQuery({
    ...actionQuery('organizations_GetInvitation', { linkId: linkId ?? '' }),
    enabled: linkId !== undefined,
    refetchInterval: false,
    retry: false,
  })
  return (
    <AuthLayout>
      {outcome && <SignupResult {...outcome} />}
      {!outcome && !isLoading && <SignupForm invitation={data} onDone={setOutcome} />}
    </AuthLayout>
  )
}

type SignupFormProps = { invitation: Invitation | undefined; onDone: (outcome: Outcome) => void }

function SignupForm({ invitation, onDone }: SignupFormProps) {
  const invited = invitation?.result === 'Found' ? invitation : undefined
  const [error, setError] = useState<unknown>()
  const form = useTextForm({
    defaultValues: {
      displayName: '',
      email: invited?.email ?? '',
      password: '',
      confirmation: '',
      consentedToTerms: false as boolean,
      consentedToMarketing: false as boolean,
    },
    validate: values => ({
      displayName: values.displayName.trim() ? undefined : 'Please enter your full name.',
      email: isEmail(values.email) ? undefined : 'Please enter a valid email address.',
      ...newPasswordErrors(values),
      consentedToTerms: values.consentedToTerms
        ? undefined
        : 'Please agree to the Terms of Service and Privacy Policy.',
    }),
    submit: async ({ displayName, email, password, consentedToMarketing }) => {
      const { result } = await invoke('users_Register', {
        displayName: displayName.trim(),
        email: email.trim(),
        password,
        consentedToTerms: true,
        consentedToMarketing,
      })
      onDone({ result, email: email.trim() })
    },
    onFailure: setError,
  })
  return (
    <form noValidate onSubmit={event => void submitForm(event, form)}>
      <AuthHead title="Create an account">
        Have an account already?{' '}
        <Link to="/login" search={invited ? { redirect: '/user/invitations' } : {}}>
          Log in
        </Link>
      </AuthHead>
      {invitation?.result === 'NotFound' && (
        <Alert tone="warn">
          This link of an invitation has ended. Ask for another one, or sign up without it.
        </Alert>
      )}
      {error !== undefined && <RequestFailed error={error} />}
      <form.Field name="displayName">
        {field => <TextField label="Full name" size="lg" required autoComplete="name" {...bindText(field)} />}
      </form.Field>
      <form.Field name="email">
        {field => (
          <TextField
            label="Work email"
            type="email"
            size="lg"
            required
            autoComplete="username"
            autoCapitalize="off"
            spellCheck={false}
            help={
              invited &&
              `The invitation to ${invited.organizationName} is for this address. The link that activates your account is mailed to it.`
            }
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
      <form.Field name="consentedToTerms">
        {field => (
          <Checkbox
            label={
              <>
                I agree to the <TermsLink /> and the <PrivacyLink />.
              </>
            }
            required
            {...bindChecked(field)}
          />
        )}
      </form.Field>
      <form.Field name="consentedToMarketing">
        {field => <Checkbox label="Send me news about the product." {...bindChecked(field)} />}
      </form.Field>
      <SubmitButton form={form} size="lg" busyLabel="Creating account…">
        Create account
      </SubmitButton>
    </form>
  )
}

import { useCommand } from '../../api/queries.ts'
import { bindText, submitForm, useTextForm } from '../../lib/form.ts'
import { newPasswordErrors } from '../../lib/rules.ts'
import { useSession } from '../../session.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { Section } from '../../ui/Section.tsx'
import { SubmitButton } from '../../ui/SubmitButton.tsx'
import { toast } from '../../ui/toast.ts'

/** Changes the password; the hub then ends every other session. */
export function PasswordSection() {
  const { userId, email } = useSession()
  const change = useCommand('users_SetPassword', { invalidates: ['users_QuerySessions'] })
  const form = useTextForm({
    defaultValues: { password: '', confirmation: '' },
    validate: newPasswordErrors,
    submit: async ({ password }) => {
      try {
        await change.mutateAsync({ userId, password })
      } catch {
        return // The form says why.
      }
      form.reset()
      toast('Password changed. Every other session has ended.')
    },
  })
  return (
    <Section title="Change Password">
      <form className="form" noValidate onSubmit={event => void submitForm(event, form)}>
        <ErrorAlert title="The password was not changed." error={change.error} />
        {/* Tells password managers whose password this is. */}
        <input type="text" autoComplete="username" value={email} readOnly hidden />
        <form.Field name="password">
          {field => (
            <PasswordField label="New password" autoComplete="new-password" required {...bindText(field)} />
          )}
        </form.Field>
        <form.Field name="confirmation">
          {field => (
            <PasswordField
              label="Confirm password"
              autoComplete="new-password"
              required
              {...bindText(field)}
            />
          )}
        </form.Field>
        <SubmitButton form={form} busyLabel="Changing…">
          Change Password
        </SubmitButton>
      </form>
    </Section>
  )
}

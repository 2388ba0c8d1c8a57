import { useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import formStyles from '../../form/form.module.css'
import { bindChecked, bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { newPasswordErrors } from '../../lib/rules.ts'
import { useSession } from '../../session.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { toast } from '../../ui/app/toast.ts'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { SaveBar } from '../../ui/lazy/SaveBar.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

/**
 * Form that changes the password, and asks for the current password if the hub requires it. After the change the hub
 * ends all other sessions and, if requested, all tokens.
 */
export function PasswordSection() {
  const { userId, email } = useSession()
  const change = useCommand('users_SetPassword', {
    invalidates: ['users_QuerySessions', 'users_QueryTokens'],
  })
  const current = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    // Tokens are ended by default. Tokens that an attacker created with the old password would otherwise stay valid.
    defaultValues: { password: '', confirmation: '', endTokens: true as boolean },
    validate: newPasswordErrors,
    submit: async ({ password, endTokens }) => {
      const changed = await current.run(currentPassword =>
        change.mutateAsync({ userId, password, endTokens, ...currentPassword }),
      )
      if (!changed) return
      form.reset()
      toast(`Password changed. Every other session${endTokens ? ' and every token' : ''} has ended.`)
    },
    onFailure: setFailure,
  })
  return (
    <Section title="Change Password" padded={false}>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div className={formStyles.fields}>
          <ErrorAlert title="The password was not changed." error={failure} />
          {/* This hidden field names the account for password managers. */}
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
          <form.Field name="endTokens">
            {field => <Checkbox label="Delete all tokens of this account" {...bindChecked(field)} />}
          </form.Field>
          {current.field}
        </div>
        <SaveBar>
          <SubmitButton form={form} busyLabel="Changing…">
            Change Password
          </SubmitButton>
        </SaveBar>
      </form>
    </Section>
  )
}

import { ActionError } from '@muster/actions/client'
import { useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import formStyles from '../../form/form.module.css'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { useSession } from '../../session.ts'
import { Alert, ErrorAlert } from '../../ui/Alert.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { SaveBar } from '../../ui/lazy/SaveBar.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'

const REFUSED = {
  InvalidCurrentPassword: { path: 'currentPassword', message: 'This is not your current password.' },
  SameEmail: { path: 'newEmail', message: 'This is your address already.' },
  EmailAlreadyExists: { path: 'newEmail', message: 'Another account has this address.' },
}

/** Form that mails a link to a new address, with which it becomes the address of the account. */
export function EmailSection() {
  const { userId } = useSession()
  const change = useCommand('users_InitiateEmailChange')
  const [failure, setFailure] = useState<unknown>()
  const [mailedTo, setMailedTo] = useState<string>()
  const form = useTextForm({
    defaultValues: { newEmail: '', currentPassword: '' },
    validate: ({ newEmail, currentPassword }) => ({
      newEmail: newEmail.trim() ? undefined : 'Please enter the new address.',
      currentPassword: currentPassword ? undefined : 'Please enter your password.',
    }),
    submit: async ({ newEmail, currentPassword }) => {
      setMailedTo(undefined)
      const address = newEmail.trim()
      const { result } = await change.mutateAsync({ userId, newEmail: address, currentPassword })
      // The form shows the message at its field.
      if (result !== 'Pending') throw new ActionError('Invalid', '', { issues: [REFUSED[result]] })
      form.reset()
      setMailedTo(address)
    },
    onFailure: setFailure,
  })
  return (
    <Section title="Change Email" padded={false}>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div className={formStyles.fields}>
          <ErrorAlert title="The address was not changed." error={failure} />
          {mailedTo !== undefined && (
            <Alert tone="ok" title="A link was mailed.">
              Open it within an hour: then {mailedTo} is the address of this account.
            </Alert>
          )}
          <form.Field name="newEmail">
            {field => (
              <TextField label="New email" type="email" autoComplete="email" required {...bindText(field)} />
            )}
          </form.Field>
          <form.Field name="currentPassword">
            {field => (
              <PasswordField
                label="Current password"
                autoComplete="current-password"
                required
                {...bindText(field)}
              />
            )}
          </form.Field>
        </div>
        <SaveBar note="The present address gets a notice.">
          <SubmitButton form={form} busyLabel="Mailing…">
            Mail a Link
          </SubmitButton>
        </SaveBar>
      </form>
    </Section>
  )
}

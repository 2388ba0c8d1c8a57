import { ActionError } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindChecked, bindText, useTextForm } from '../../form/form.ts'
import { Alert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

/** Dialog that creates an account. The hub mails the account's owner a link to set a password. */
export function NewUserDialog({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { email: '', name: '', isAdmin: false as boolean },
    // Only the hub validates the email address. The form shows the hub's message (docs/decisions.md, "Readings of the
    // specification").
    submit: async ({ email, name, isAdmin }) => {
      const created = await password.run(async currentPassword => {
        const input = { name, email, displayName: name, isAdmin, ...currentPassword }
        const { result } = await invoke('users_Create', input)
        if (result !== 'Created') throw new Error('User with that email already exists.')
        return result
      })
      if (!created) return
      await invalidateActions(queryClient, ['users_Query', 'instance_GetStatistics'])
      toast(`User ${email.trim()} created.`)
      onClose()
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog title="New User" form={form} submit="Create User" busyLabel="Creating…" onClose={onClose}>
      {failure !== undefined && (
        <Alert tone="bad" title="Error">
          {!isHubAnswer(failure) && 'An error occurred while creating the user. '}
          <ErrorText error={failure} />
        </Alert>
      )}
      <form.Field name="email">
        {field => (
          <TextField
            label="Email"
            type="email"
            required
            help="A mail with a link to set a password goes to this address."
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="name">{field => <TextField label="Name" {...bindText(field)} />}</form.Field>
      <form.Field name="isAdmin">{field => <Checkbox label="Admin" {...bindChecked(field)} />}</form.Field>
      {password.field}
    </FormDialog>
  )
}

/**
 * Whether the hub itself wrote the text of an error. A lost connection or the error page of a proxy has a `cause` instead, and an error with
 * an empty text says nothing.
 */
function isHubAnswer(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.message !== '' &&
    !(error instanceof ActionError && error.cause !== undefined)
  )
}

import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { SecretDialog } from '../../ui/lazy/SecretDialog.tsx'
import { SelectField } from '../../ui/lazy/SelectField.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

/** Creates a personal access token, then shows its secret once. */
export function NewUserTokenDialog({ userId, onClose }: { userId: string; onClose: () => void }) {
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [secret, setSecret] = useState<string>()
  if (secret) return <SecretDialog title="Token created" token={secret} onClose={onClose} />
  return <NameStep userId={userId} onCreated={setSecret} onClose={onClose} />
}

const DAY_SECS = 24 * 60 * 60

/** Lifetimes of a token to choose from, in days or `never`. */
const LIVES = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

type NameStepProps = { userId: string; onCreated: (secret: string) => void; onClose: () => void }

function NameStep({ userId, onCreated, onClose }: NameStepProps) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { name: '', life: 'never' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name, life }) => {
      const created = await password.run(currentPassword =>
        invoke('users_CreateToken', {
          userId,
          name: name.trim(),
          ...(life !== 'never' && { validForSecs: Number(life) * DAY_SECS }),
          ...currentPassword,
        }),
      )
      if (!created) return
      void invalidateActions(queryClient, ['users_QueryTokens'])
      onCreated(created.token)
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog title="New Token" form={form} submit="Create Token" busyLabel="Creating…" onClose={onClose}>
      <ErrorAlert title="The token was not created." error={failure} />
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
      <form.Field name="life">
        {field => <SelectField label="Expires" options={LIVES} {...bindText(field)} />}
      </form.Field>
      {password.field}
    </FormDialog>
  )
}

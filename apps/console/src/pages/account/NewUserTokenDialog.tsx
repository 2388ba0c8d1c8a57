import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { bindText, useTextForm } from '../../lib/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { FormDialog } from '../../ui/FormDialog.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { SecretDialog } from '../tokens/SecretDialog.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

/** Creates a personal access token, then shows its secret this once. */
export function NewUserTokenDialog({ userId, onClose }: { userId: string; onClose: () => void }) {
  // The secret lives here only: not in the query cache, and gone with the dialog.
  const [secret, setSecret] = useState<string>()
  if (secret) return <SecretDialog title="Token created" token={secret} onClose={onClose} />
  return <NameStep userId={userId} onCreated={setSecret} onClose={onClose} />
}

type NameStepProps = { userId: string; onCreated: (secret: string) => void; onClose: () => void }

function NameStep({ userId, onCreated, onClose }: NameStepProps) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const form = useTextForm({
    defaultValues: { name: '' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      const created = await password.run(currentPassword =>
        invoke('users_CreateToken', { userId, name: name.trim(), ...currentPassword }),
      )
      if (!created) return
      void invalidateActions(queryClient, ['users_QueryTokens'])
      onCreated(created.token)
    },
  })
  return (
    <FormDialog title="New Token" form={form} submit="Create Token" busyLabel="Creating…" onClose={onClose}>
      <ErrorAlert title="The token was not created." error={password.error} />
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
      {password.field}
    </FormDialog>
  )
}

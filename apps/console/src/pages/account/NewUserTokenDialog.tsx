import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { bindText, useTextForm } from '../../lib/form.ts'
import { Alert } from '../../ui/Alert.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { FormDialog } from '../../ui/FormDialog.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { SecretDialog } from '../tokens/SecretDialog.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

type NewUserTokenDialogProps = { userId: string; open: boolean; onClose: () => void }

/** Creates a personal access token, then shows its secret this once. */
export function NewUserTokenDialog({ open, ...rest }: NewUserTokenDialogProps) {
  return open ? <TokenSteps {...rest} /> : null
}

function TokenSteps({ userId, onClose }: Omit<NewUserTokenDialogProps, 'open'>) {
  // The secret lives here only: not in the query cache, and gone with the dialog.
  const [secret, setSecret] = useState<string>()
  if (secret) return <SecretDialog title="Token created" token={secret} onClose={onClose} />
  return <NameStep userId={userId} onCreated={setSecret} onClose={onClose} />
}

type NameStepProps = { userId: string; onCreated: (secret: string) => void; onClose: () => void }

function NameStep({ userId, onCreated, onClose }: NameStepProps) {
  const queryClient = useQueryClient()
  const [error, setError] = useState<unknown>()
  const password = useCurrentPassword()
  const form = useTextForm({
    defaultValues: { name: '' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      setError(undefined)
      try {
        const created = await password.run(currentPassword =>
          invoke('users_CreateToken', { userId, name: name.trim(), ...currentPassword }),
        )
        if (!created) return
        void invalidateActions(queryClient, ['users_QueryTokens'])
        onCreated(created.token)
      } catch (reason) {
        setError(reason)
      }
    },
  })
  return (
    <FormDialog title="New Token" form={form} submit="Create Token" busyLabel="Creating…" onClose={onClose}>
      {error !== undefined && (
        <Alert tone="bad" title="The token was not created.">
          <ErrorText error={error} />
        </Alert>
      )}
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
      {password.field}
    </FormDialog>
  )
}

import { useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import { bindText, useTextForm } from '../../lib/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { FormDialog } from '../../ui/app/FormDialog.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { SecretDialog } from './SecretDialog.tsx'

/** Creates a deployment token, then shows its secret once. */
export function NewTokenDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [secret, setSecret] = useState<string>()
  const create = useCommand('projects_CreateDeploymentToken', {
    invalidates: ['projects_QueryDeploymentTokens'],
    onSuccess: ({ token }) => setSecret(token),
  })
  const form = useTextForm({
    defaultValues: { name: '' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      const input = { projectId, name: name.trim(), flags: { autoAccept: true } }
      // The dialog shows the error from the mutation's state.
      await create.mutateAsync(input).catch(() => {})
    },
  })
  if (secret) {
    return (
      <SecretDialog
        title="Token created"
        token={secret}
        commandLabel="Connect this machine as a device"
        onClose={onClose}
      />
    )
  }
  return (
    <FormDialog title="New Token" form={form} submit="Create Token" busyLabel="Creating…" onClose={onClose}>
      <ErrorAlert title="The token was not created." error={create.error} />
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
    </FormDialog>
  )
}

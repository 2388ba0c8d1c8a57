import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { bindText, useTextForm } from '../../lib/form.ts'
import { Alert } from '../../ui/Alert.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { FormDialog } from '../../ui/FormDialog.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { SecretDialog } from './SecretDialog.tsx'

type NewTokenDialogProps = { projectId: string; open: boolean; onClose: () => void }

/** Creates a deployment token, then shows its secret this once. */
export function NewTokenDialog({ open, projectId, onClose }: NewTokenDialogProps) {
  return open ? <TokenSteps projectId={projectId} onClose={onClose} /> : null
}

function TokenSteps({ projectId, onClose }: Omit<NewTokenDialogProps, 'open'>) {
  // The secret lives here only: not in the query cache, and gone with the dialog.
  const [secret, setSecret] = useState<string>()
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
  return <NameStep projectId={projectId} onCreated={setSecret} onClose={onClose} />
}

type NameStepProps = { projectId: string; onCreated: (secret: string) => void; onClose: () => void }

function NameStep({ projectId, onCreated, onClose }: NameStepProps) {
  const queryClient = useQueryClient()
  const [error, setError] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { name: '' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      setError(undefined)
      try {
        const { token } = await invoke('projects_CreateDeploymentToken', {
          projectId,
          name: name.trim(),
          flags: { autoAccept: true },
        })
        void invalidateActions(queryClient, ['projects_QueryDeploymentTokens'])
        onCreated(token)
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
    </FormDialog>
  )
}

import { useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../ui/app/FormDialog.tsx'
import { SecretDialog } from './SecretDialog.tsx'
import { useTokenForm } from './use-token-form.tsx'

/** Creates a deployment token, then shows its secret once. */
export function NewTokenDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [secret, setSecret] = useState<string>()
  const create = useCommand('projects_CreateDeploymentToken', {
    invalidates: ['projects_QueryDeploymentTokens'],
    onSuccess: ({ token }) => setSecret(token),
  })
  const { form, fields } = useTokenForm('', choices => create.mutateAsync({ projectId, ...choices }))
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
      {fields}
    </FormDialog>
  )
}

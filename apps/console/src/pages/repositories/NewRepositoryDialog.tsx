import { useNavigate } from '@tanstack/react-router'
import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { log } from '../../lib/log.ts'
import { organizationParam } from '../../organization.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { TextField } from '../../ui/TextField.tsx'

type NewRepositoryDialogProps = { organizationId: string; onClose: () => void }

/** Creates a repository and opens it. */
export function NewRepositoryDialog({ organizationId, onClose }: NewRepositoryDialogProps) {
  const navigate = useNavigate()
  const create = useCommand('repositories_Create', {
    invalidates: ['organizations_QueryRepositories'],
    onSuccess: output => {
      // The failure is logged in addition to the message at the field (docs/specification.md 4).
      if (output.result !== 'Created') return log.warn('The repository was not created', output.result)
      const params = { organization: organizationParam(organizationId), repositoryId: output.repositoryId }
      return navigate({ to: '/org_{$organization}/repositories/$repositoryId', params })
    },
  })
  const form = useTextForm({
    defaultValues: { name: '' },
    // Only the hub validates the name (docs/specification.md 5).
    submit: async ({ name }) => {
      // The dialog shows the error from the mutation's state.
      await create.mutateAsync({ organizationId, name: name.trim() }).catch(() => {})
    },
  })
  const takenName = create.data?.result === 'NameAlreadyExists' ? create.variables?.name : undefined
  return (
    <FormDialog
      title="New Repository"
      form={form}
      submit="Create Repository"
      busyLabel="Creating…"
      onClose={onClose}
    >
      <ErrorAlert title="The repository was not created." error={create.error} />
      <form.Field name="name">
        {field => (
          <TextField
            label="Name"
            required
            {...bindText(field)}
            error={field.state.value.trim() === takenName ? 'This name is taken.' : undefined}
          />
        )}
      </form.Field>
    </FormDialog>
  )
}

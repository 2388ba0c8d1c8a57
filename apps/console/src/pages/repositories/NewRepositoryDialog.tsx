import { useNavigate } from '@tanstack/react-router'
import { useCommand } from '../../api/queries.ts'
import { bindText, useTextForm } from '../../lib/form.ts'
import { log } from '../../lib/log.ts'
import { organizationParam } from '../../organization.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { FormDialog } from '../../ui/FormDialog.tsx'
import { TextField } from '../../ui/TextField.tsx'

type NewRepositoryDialogProps = { organizationId: string; onClose: () => void }

/** Asks for a name and creates a repository, then goes there. */
export function NewRepositoryDialog({ organizationId, onClose }: NewRepositoryDialogProps) {
  const navigate = useNavigate()
  const create = useCommand('repositories_Create', {
    invalidates: ['organizations_QueryRepositories'],
    onSuccess: output => {
      // The dialog stays and only the browser's console is told (spec 4).
      if (output.result !== 'Created') return log.warn('The repository was not created', output.result)
      const params = { organization: organizationParam(organizationId), repositoryId: output.repositoryId }
      return navigate({ to: '/org_{$organization}/repositories/$repositoryId', params })
    },
  })
  const form = useTextForm({
    defaultValues: { name: '' },
    // The hub alone says what a name may be (spec 5).
    submit: async ({ name }) => {
      // The refusal is shown from the command's state.
      await create.mutateAsync({ organizationId, name: name.trim() }).catch(() => {})
    },
  })
  return (
    <FormDialog
      title="New Repository"
      form={form}
      submit="Create Repository"
      busyLabel="Creating…"
      onClose={onClose}
    >
      <ErrorAlert title="The repository was not created." error={create.error} />
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
    </FormDialog>
  )
}

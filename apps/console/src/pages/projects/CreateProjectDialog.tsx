import { useNavigate } from '@tanstack/react-router'
import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { organizationParam } from '../../organization.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { TextField } from '../../ui/TextField.tsx'

type CreateProjectDialogProps = { organizationId: string; onClose: () => void }

/** Creates a project and opens it. */
export function CreateProjectDialog({ organizationId, onClose }: CreateProjectDialogProps) {
  const navigate = useNavigate()
  const create = useCommand('projects_Create', {
    invalidates: ['organizations_QueryProjects'],
    onSuccess: ({ projectId }) =>
      navigate({
        to: '/org_{$organization}/projects/$projectId',
        params: { organization: organizationParam(organizationId), projectId },
      }),
  })
  const form = useTextForm({
    defaultValues: { name: '' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      // The dialog shows the error from the mutation's state.
      await create.mutateAsync({ organizationId, name: name.trim() }).catch(() => {})
    },
  })
  return (
    <FormDialog
      title="Create Project"
      form={form}
      submit="Create Project"
      busyLabel="Creating…"
      onClose={onClose}
    >
      <ErrorAlert title="The project was not created." error={create.error} />
      <form.Field name="name">{field => <TextField label="Name" required {...bindText(field)} />}</form.Field>
    </FormDialog>
  )
}

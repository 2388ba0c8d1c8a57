import { useCommand } from '../../../api/queries.ts'
import { FormDialog } from '../../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../../form/form.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { LabelFields } from '../../labels/shared/LabelFields.tsx'
import {
  draftsOf,
  draftsProblem,
  labelsOfDrafts,
  readDrafts,
  writeDrafts,
} from '../../labels/shared/label-drafts.ts'
import type { Token } from './token.ts'

type TokenLabelsDialogProps = { projectId: string; token: Token; onClose: () => void }

/** Form for the labels that a token gives to new devices. */
export function TokenLabelsDialog({ projectId, token, onClose }: TokenLabelsDialogProps) {
  const name = token.name ?? 'unnamed'
  const { mutateAsync, error } = useCommand('projects_SetDeploymentTokenLabels', {
    invalidates: ['projects_QueryDeploymentTokens'],
    onSuccess: () => {
      toast(`Labels of ${name} changed.`)
      onClose()
    },
  })
  const form = useTextForm({
    defaultValues: { labels: writeDrafts(draftsOf(token.labels)) },
    validate: ({ labels }) => ({ labels: draftsProblem(readDrafts(labels)) }),
    submit: async ({ labels }) => {
      // The dialog shows the error from the mutation's state.
      await mutateAsync({ tokenId: token.tokenId, labels: labelsOfDrafts(readDrafts(labels)) }).catch(
        () => {},
      )
    },
  })
  return (
    <FormDialog
      title={`Labels of ${name}`}
      form={form}
      submit="Save Labels"
      busyLabel="Saving…"
      onClose={onClose}
    >
      <ErrorAlert title="The labels were not changed." error={error} />
      <form.Field name="labels">
        {field => (
          <LabelFields
            projectId={projectId}
            label="Labels"
            drafts={readDrafts(field.state.value)}
            onChange={drafts => field.handleChange(writeDrafts(drafts))}
            error={bindText(field).error}
            help="New devices with this token get them. Devices that enrolled before keep theirs."
          />
        )}
      </form.Field>
    </FormDialog>
  )
}

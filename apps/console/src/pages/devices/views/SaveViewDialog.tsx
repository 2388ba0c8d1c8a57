import { MAX_NAME_LENGTH } from '@muster/actions/client'
import { LIST_FIELDS, type ListFieldName, memberOf } from '@muster/predicates'
import { useState } from 'react'
import { useActionState, useCommand } from '../../../api/queries.ts'
import { FormDialog } from '../../../form/FormDialog.tsx'
import { bindChecked, bindText, useTextForm } from '../../../form/form.ts'
import { counted } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { Choices } from '../../../ui/lazy/Choices.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import styles from './SaveViewDialog.module.css'
import { type Kept, type View, viewText } from './view-search.ts'

type SaveViewDialogProps = {
  projectId: string
  /** What the view keeps. */
  saved: Kept
  /** The view to change; absent for a new one. */
  view?: View | undefined
  onClose: () => void
  /** Called with the id of the view. */
  onSaved: (viewId: string) => void
}

/** Saves a view of the device list under a name, for the person alone or for everyone in the project. */
export function SaveViewDialog({ projectId, saved, view, onClose, onSaved }: SaveViewDialogProps) {
  const [error, setError] = useState<unknown>()
  const invalidates = ['views_Query', 'views_Get'] as const
  const create = useCommand('views_Create', { invalidates })
  const change = useCommand('views_Set', { invalidates })
  const counts = useActionState(
    'projects_QueryDeviceCounts',
    { projectId, filters: [saved.conditions] },
    { enabled: !view },
  ).data
  const form = useTextForm({
    defaultValues: {
      name: view?.name ?? '',
      seenBy: view?.isShared ? 'everyone' : 'me',
      isInRow: view?.isInRow ?? true,
    },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name, seenBy, isInRow }) => {
      const kept = { ...saved, name: name.trim(), isShared: seenBy === 'everyone', isInRow }
      if (view) await change.mutateAsync({ projectId, viewId: view.viewId, ...kept })
      const viewId = view?.viewId ?? (await create.mutateAsync({ projectId, ...kept })).viewId
      toast(`View ${kept.name} saved.`)
      onSaved(viewId)
    },
    onFailure: setError,
  })
  return (
    <FormDialog
      title={view ? 'Change the view' : 'Save as a new view'}
      form={form}
      submit="Save View"
      busyLabel="Saving…"
      onClose={onClose}
    >
      <ErrorAlert title="The view was not saved." error={error} />
      <form.Field name="name">
        {field => (
          <TextField
            label="Name"
            required
            maxLength={MAX_NAME_LENGTH}
            placeholder="Pier 4, waiting"
            {...bindText(field)}
          />
        )}
      </form.Field>
      <div className="field">
        <span className="label">Keeps</span>
        <pre className={`mono ${styles.kept}`}>{viewText(saved)}</pre>
        <p className="help">
          {keptWords(saved)}
          {counts?.counts[0] != null &&
            ` ${counted(counts.counts[0], 'device')} match now; the view asks again each time.`}
        </p>
      </div>
      <form.Field name="seenBy">
        {field => (
          <Choices
            label="Who sees it"
            required
            name="seenBy"
            value={field.state.value}
            options={[
              { value: 'me', label: 'Only you' },
              { value: 'everyone', label: 'Everyone in this project' },
            ]}
            onChange={value => field.handleChange(value)}
            help="A link shows the view to people who may see this project. It gives nobody a right."
          />
        )}
      </form.Field>
      <form.Field name="isInRow">
        {field => <Checkbox label="Put it into the row above the list" {...bindChecked(field)} />}
      </form.Field>
    </FormDialog>
  )
}

/** "With 9 columns and the order First Seen, descending." */
function keptWords({ columns, order }: Kept): string {
  const width = columns ? `With ${counted(columns.length + 1, 'column')}` : 'With the columns of each person'
  return order ? `${width} and the order ${orderWords(order)}.` : `${width}.`
}

function orderWords(order: string): string {
  const isDown = order.startsWith('-')
  const name = order.replace(/^-/, '')
  const field = (Object.keys(LIST_FIELDS) as ListFieldName[]).find(field => memberOf(field) === name)
  const words = field
    ? LIST_FIELDS[field].words
    : name === 'problems'
      ? 'Problems first'
      : name.replace(/^=/, '')
  return isDown ? `${words}, descending` : words
}

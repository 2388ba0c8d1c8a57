import { FormDialog } from '../../../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../../../form/form.ts'
import { TextField } from '../../../../ui/TextField.tsx'
import { localTime } from './time-range.ts'

type BetweenDialogProps = {
  from: string
  to: string
  onChange: (from: string, to: string) => void
  onClose: () => void
}

/** Dialog for a time range from one date and time to another. An empty field means no limit. */
export function BetweenDialog({ from, to, onChange, onClose }: BetweenDialogProps) {
  const form = useTextForm({
    defaultValues: { from, to },
    validate: values => ({ to: errorOf(values.from, values.to) }),
    submit: async values => {
      onChange(values.from, values.to)
      onClose()
    },
  })
  return (
    <FormDialog title="Between" form={form} submit="Show" busyLabel="Showing…" onClose={onClose}>
      <form.Field name="from">
        {field => <TextField type="datetime-local" label="From" {...bindText(field)} />}
      </form.Field>
      <form.Field name="to">
        {field => <TextField type="datetime-local" label="To" {...bindText(field)} />}
      </form.Field>
      <p className="help">Times are local.</p>
    </FormDialog>
  )
}

/** Reason why two local times are not a range, or undefined. */
function errorOf(from: string, to: string): string | undefined {
  const [begin, end] = [localTime(from), localTime(to)]
  if (!begin && !end) return 'Please enter a day with a time of day.'
  return begin && end && begin >= end ? 'The end must be after the beginning.' : undefined
}

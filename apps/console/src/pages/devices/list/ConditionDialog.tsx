import { useStore } from '@tanstack/react-form'
import { bindText, useTextForm } from '../../../lib/form.ts'
import { FormDialog } from '../../../ui/app/FormDialog.tsx'
import { SelectField } from '../../../ui/app/SelectField.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import {
  type Condition,
  isCondition,
  OPERATORS,
  type Operator,
  readCondition,
  takenBy,
} from './conditions.ts'

type ConditionDialogProps = { onAdd: (condition: Condition) => void; onClose: () => void }

/** Dialog that adds a condition on a property to the filter of the device list. */
export function ConditionDialog({ onAdd, onClose }: ConditionDialogProps) {
  const form = useTextForm({
    defaultValues: { property: '', operator: 'equals' as Operator, value: '' },
    validate: typed => {
      const read = readCondition(typed)
      return isCondition(read) ? {} : read
    },
    submit: async typed => {
      const read = readCondition(typed)
      if (isCondition(read)) onAdd(read)
    },
  })
  const takes = useStore(form.store, ({ values }) => takenBy(values.operator))
  return (
    <FormDialog title="Add a condition" form={form} submit="Add" busyLabel="Adding…" onClose={onClose}>
      <form.Field name="property">
        {field => (
          <TextField
            label="Property"
            required
            mono
            placeholder="version"
            spellCheck={false}
            {...bindText(field)}
          />
        )}
      </form.Field>
      <form.Field name="operator">
        {field => <SelectField label="Condition" required options={OPERATORS} {...bindText(field)} />}
      </form.Field>
      {takes && (
        <form.Field name="value">
          {field => (
            <TextField
              label="Value"
              required
              mono
              spellCheck={false}
              {...(takes === 'number' && { inputMode: 'decimal' as const })}
              help={HELP[takes]}
              {...bindText(field)}
            />
          )}
        </form.Field>
      )}
    </FormDialog>
  )
}

const HELP = {
  value: 'Text, a number, true, false or null. A number in quotes is text.',
  text: 'Part of a text, in any case.',
  number: undefined,
}

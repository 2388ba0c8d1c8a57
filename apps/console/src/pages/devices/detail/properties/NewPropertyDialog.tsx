import { useState } from 'react'
import { FormDialog } from '../../../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../../../form/form.ts'
import { ErrorAlert } from '../../../../ui/Alert.tsx'
import { toast } from '../../../../ui/app/toast.ts'
import { TextAreaField } from '../../../../ui/lazy/TextAreaField.tsx'
import { TextField } from '../../../../ui/TextField.tsx'
import { parseTyped } from './json-text.ts'
import { ProtectedBox } from './ProtectedBox.tsx'
import { useSetProperty } from './use-set-property.ts'

const VALUE_HELP = 'For example 16, "text" or { "limit": 16 }. An existing property gets this value.'

/** Dialog that sets a property by its key. An existing property gets the new value. */
export function NewPropertyDialog({ deviceId, onClose }: { deviceId: string; onClose: () => void }) {
  const [failure, setFailure] = useState<unknown>()
  const set = useSetProperty()
  const form = useTextForm({
    defaultValues: { name: '', value: '', protected: false as boolean },
    validate: ({ name, value }) => {
      const parsed = parseTyped(value)
      return {
        name: name.trim() === '' ? 'Please enter a key.' : undefined,
        value: 'error' in parsed ? parsed.error : undefined,
      }
    },
    submit: async ({ name, value, protected: isProtected }) => {
      const parsed = parseTyped(value)
      if ('error' in parsed) return
      await set.mutateAsync({
        deviceId,
        name: name.trim(),
        value: parsed.value,
        ...(isProtected && { protected: true }),
      })
      toast(`${name.trim()} was set.`)
      onClose()
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog title="Set Property" form={form} submit="Set Property" busyLabel="Saving…" onClose={onClose}>
      <ErrorAlert title="The property was not set." error={failure} />
      <form.Field name="name">
        {field => <TextField label="Key" required mono {...bindText(field)} />}
      </form.Field>
      <form.Field name="value">
        {field => <TextAreaField label="Value as JSON" help={VALUE_HELP} {...bindText(field)} />}
      </form.Field>
      <form.Field name="protected">
        {field => <ProtectedBox checked={field.state.value} onChange={field.handleChange} />}
      </form.Field>
    </FormDialog>
  )
}

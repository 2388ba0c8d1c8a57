import { type ActionOutput, MAX_NAME_LENGTH } from '@muster/actions/client'
import { useId, useState } from 'react'
import formStyles from '../../form/form.module.css'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { counted } from '../../lib/app/format.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'

/** A property that is pinned in a project. */
export type ProjectPin = { name: string; label?: string | undefined }

type PinFormProps = {
  /** The pin that is changed; `undefined` for a new pin. */
  pin: ProjectPin | undefined
  /** Names of the other pins. */
  taken: readonly string[]
  /** Properties that devices of the project have, for suggestions; `undefined` while they load. */
  known: ActionOutput<'projects_QueryPropertyNames'>['names'] | undefined
  onSave: (pin: ProjectPin) => Promise<void>
  onRemove: (() => Promise<void>) | undefined
  onClose: () => void
}

/** Form for the label and the property of a pin. */
export function PinForm({ pin, taken, known = [], onSave, onRemove, onClose }: PinFormProps) {
  const listId = useId()
  const [error, setError] = useState<unknown>()
  const [isRemoving, setRemoving] = useState(false)
  const form = useTextForm({
    defaultValues: { label: pin?.label ?? '', name: pin?.name ?? '' },
    validate: ({ name }) => {
      const wanted = name.trim()
      if (!wanted) return { name: 'Property must not be empty.' }
      return { name: taken.includes(wanted) ? 'This property is pinned already.' : undefined }
    },
    submit: ({ label, name }) => onSave({ name: name.trim(), ...(label.trim() && { label: label.trim() }) }),
    onFailure: setError,
  })
  async function remove() {
    setRemoving(true)
    try {
      await onRemove?.()
    } catch (failure) {
      setError(failure)
      setRemoving(false)
    }
  }
  return (
    <form noValidate onSubmit={event => void submitForm(event, form)}>
      <ErrorAlert title="The pinned properties were not saved." error={error} />
      <div className={formStyles.pair}>
        <form.Field name="label">
          {field => <TextField label="Label" maxLength={MAX_NAME_LENGTH} {...bindText(field)} />}
        </form.Field>
        <form.Field name="name">
          {field => {
            const found = known.find(({ path }) => path === field.state.value.trim())
            return (
              <TextField
                label="Property"
                required
                mono
                list={listId}
                spellCheck={false}
                autoCapitalize="off"
                help={
                  found &&
                  `${counted(found.deviceCount, 'device')} ${found.deviceCount === 1 ? 'has' : 'have'} it${found.example === undefined ? '' : `, for example ${found.example}`}`
                }
                {...bindText(field)}
              />
            )
          }}
        </form.Field>
      </div>
      <datalist id={listId}>
        {known.map(({ path }) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <div className="row">
        {onRemove && (
          <Button variant="ghost" busy={isRemoving} busyLabel="Removing…" onClick={() => void remove()}>
            Remove
          </Button>
        )}
        <Button onClick={onClose}>Cancel</Button>
        <SubmitButton form={form} busyLabel="Saving…">
          Save property
        </SubmitButton>
      </div>
    </form>
  )
}

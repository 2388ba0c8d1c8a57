import { MAX_NAME_LENGTH } from '@muster/actions/client'
import { useState } from 'react'
import { ErrorAlert } from '../ui/Alert.tsx'
import { Section } from '../ui/app/Section.tsx'
import { toast } from '../ui/app/toast.ts'
import { SaveBar } from '../ui/lazy/SaveBar.tsx'
import { TextField } from '../ui/TextField.tsx'
import styles from './form.module.css'
import { bindText, submitForm, useTextForm } from './form.ts'
import { SubmitButton } from './SubmitButton.tsx'

type NameFormProps = {
  /** Title of the panel, which is also the noun of the messages, for example "Project". */
  title: string
  /** The present name; `undefined` while it loads. */
  name: string | undefined
  /** Consequence of the new name, shown below the field. */
  note: string
  save: (name: string) => Promise<unknown>
}

/** Panel with a form that renames an entity. If a refetch returns another name, the field changes only if the user has not edited it. */
export function NameForm({ title, name = '', note, save }: NameFormProps) {
  const [error, setError] = useState<unknown>()
  const noun = title.toLowerCase()
  const form = useTextForm({
    defaultValues: { name },
    validate: values => ({ name: values.name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async values => {
      const wanted = values.name.trim()
      await save(wanted)
      form.reset({ name: wanted })
      toast(`${title} renamed to ${wanted}.`)
    },
    onFailure: setError,
  })
  return (
    <Section title={title} padded={false}>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <div className={styles.fields}>
          <ErrorAlert title={`The ${noun} was not renamed.`} error={error} />
          <form.Field name="name">
            {field => <TextField label="Name" required maxLength={MAX_NAME_LENGTH} {...bindText(field)} />}
          </form.Field>
        </div>
        <SaveBar note={note}>
          <SubmitButton form={form} busyLabel="Saving…">
            Save
          </SubmitButton>
        </SaveBar>
      </form>
    </Section>
  )
}

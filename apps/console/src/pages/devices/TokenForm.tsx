import { type ReactNode, useState } from 'react'
import { bindText, submitForm, useTextForm } from '../../lib/form.ts'
import { Alert } from '../../ui/Alert.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { TextField } from '../../ui/TextField.tsx'

type TokenFormProps = {
  start: (name: string) => Promise<void>
  /** Lays the field and the submit button out; `canSubmit` and `isSubmitting` are the button's. */
  children: (field: ReactNode, state: { canSubmit: boolean; isSubmitting: boolean }) => ReactNode
}

/** Asks for the name of the deployment token that the next device connects with. */
export function TokenForm({ start, children }: TokenFormProps) {
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { name: 'New devices' },
    validate: ({ name }) => ({ name: name.trim() ? undefined : 'Name must not be empty.' }),
    submit: async ({ name }) => {
      setFailure(undefined)
      await start(name).catch(setFailure)
    },
  })
  const field = (
    <>
      {failure !== undefined && (
        <Alert tone="bad" title="Could not create the token">
          <ErrorText error={failure} />
        </Alert>
      )}
      <form.Field name="name">
        {name => (
          <TextField
            {...bindText(name)}
            label="Name"
            required
            help="Names the deployment token. Devices that join with it are accepted at once."
          />
        )}
      </form.Field>
    </>
  )
  return (
    <form noValidate onSubmit={event => void submitForm(event, form)}>
      <form.Subscribe selector={({ canSubmit, isSubmitting }) => ({ canSubmit, isSubmitting })}>
        {state => children(field, state)}
      </form.Subscribe>
    </form>
  )
}

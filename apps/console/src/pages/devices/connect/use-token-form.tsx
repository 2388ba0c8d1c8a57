import { useState } from 'react'
import { bindText, useTextForm } from '../../../lib/form.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { TextField } from '../../../ui/TextField.tsx'

/** Form that asks for the name of a deployment token and calls `start` with it. `field` shows the text field and an error of `start`. */
export function useTokenForm(start: (name: string) => Promise<void>) {
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
      <ErrorAlert title="Could not create the token" error={failure} />
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
  return { form, field }
}

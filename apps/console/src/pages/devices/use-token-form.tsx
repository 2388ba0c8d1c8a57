import { useState } from 'react'
import { bindText, useTextForm } from '../../lib/form.ts'
import { Alert } from '../../ui/Alert.tsx'
import { ErrorText } from '../../ui/ErrorText.tsx'
import { TextField } from '../../ui/TextField.tsx'

/** A form that asks for the name of the deployment token that the next device connects with, and its field below what went wrong. */
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
  return { form, field }
}

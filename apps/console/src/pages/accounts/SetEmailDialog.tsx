import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { TextField } from '../../ui/TextField.tsx'
import { useCurrentPassword } from './use-current-password.tsx'

type SetEmailDialogProps = { user: { userId: string; email: string }; onClose: () => void }

/** Changes the address of an account. Asks for the signed-in administrator's password if the hub requires it. */
export function SetEmailDialog({ user: { userId, email }, onClose }: SetEmailDialogProps) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    defaultValues: { email },
    validate: values => ({ email: values.email.trim() ? undefined : 'Please enter the address.' }),
    submit: async values => {
      const wanted = values.email.trim()
      const done = await password.run(async currentPassword => {
        const { result } = await invoke('users_SetEmail', { userId, email: wanted, ...currentPassword })
        if (result !== 'Updated') throw new Error('Another account has this address.')
        return result
      })
      if (!done) return
      toast(`The address of ${email} is ${wanted} now.`)
      await invalidateActions(queryClient, ['users_Query', 'users_GetDetails', 'organizations_QueryMembers'])
      onClose()
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog title="Change Email" form={form} submit="Change Email" busyLabel="Saving…" onClose={onClose}>
      <ErrorAlert title="The address was not changed." error={failure} />
      <form.Field name="email">
        {field => (
          <TextField
            label="Email"
            type="email"
            required
            help="The account has this address at once, without a mailed link. The address before gets a notice."
            {...bindText(field)}
          />
        )}
      </form.Field>
      {password.field}
    </FormDialog>
  )
}

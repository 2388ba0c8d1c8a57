import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { useTextForm } from '../../form/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { useCurrentPassword } from './use-current-password.tsx'

type SetActiveDialogProps = {
  user: { userId: string; email: string; isActive: boolean }
  onClose: () => void
}

/** Disables or enables an account. Asks for the signed-in administrator's password if the hub requires it. */
export function SetActiveDialog({ user: { userId, email, isActive }, onClose }: SetActiveDialogProps) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const title = isActive ? 'Disable User' : 'Enable User'
  const form = useTextForm({
    defaultValues: {},
    submit: async () => {
      const done = await password.run(currentPassword =>
        invoke('users_SetIsActive', { userId, isActive: !isActive, ...currentPassword }),
      )
      if (!done) return
      toast(isActive ? `${email} is disabled.` : `${email} is enabled.`)
      await invalidateActions(queryClient, ['users_Query'])
      onClose()
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog title={title} form={form} submit={title} busyLabel="Saving…" onClose={onClose}>
      <ErrorAlert title="The user was not changed." error={failure} />
      <p className="break-anywhere">
        {isActive
          ? `${email} can no longer log in. All sessions and tokens of the account end for good; memberships stay.`
          : `${email} may log in again, with the password and memberships as they were. Tokens have to be created anew.`}
      </p>
      {password.field}
    </FormDialog>
  )
}

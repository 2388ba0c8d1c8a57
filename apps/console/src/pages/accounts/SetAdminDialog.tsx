import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../api/client.ts'
import { invalidateActions } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { useTextForm } from '../../form/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { useCurrentPassword } from './use-current-password.tsx'

type SetAdminDialogProps = {
  user: { userId: string; email: string; isAdmin: boolean }
  onClose: () => void
}

/** Grants or revokes the administrator role. Asks for the signed-in administrator's password if the hub requires it. */
export function SetAdminDialog({ user: { userId, email, isAdmin }, onClose }: SetAdminDialogProps) {
  const queryClient = useQueryClient()
  const password = useCurrentPassword()
  const [failure, setFailure] = useState<unknown>()
  const form = useTextForm({
    defaultValues: {},
    submit: async () => {
      const done = await password.run(currentPassword =>
        invoke('users_SetIsAdmin', { userId, isAdmin: !isAdmin, ...currentPassword }),
      )
      if (!done) return
      toast(isAdmin ? `${email} is no longer an administrator.` : `${email} is an administrator now.`)
      await invalidateActions(queryClient, ['users_Query', 'users_GetDetails'])
      onClose()
    },
    onFailure: setFailure,
  })
  return (
    <FormDialog
      title={isAdmin ? 'Remove Administrator' : 'Make Administrator'}
      form={form}
      submit={isAdmin ? 'Remove Administrator' : 'Make Administrator'}
      busyLabel="Saving…"
      onClose={onClose}
    >
      <ErrorAlert title="The administrator was not changed." error={failure} />
      <p className="break-anywhere">
        {isAdmin
          ? `${email} loses the administration of this instance.`
          : `${email} may then manage all users and see everything on this instance.`}
      </p>
      {password.field}
    </FormDialog>
  )
}

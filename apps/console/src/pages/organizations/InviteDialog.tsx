import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { isEmail } from '../../lib/rules.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { TextField } from '../../ui/TextField.tsx'

/** Invites an email address to an organization. */
export function InviteDialog({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const invite = useCommand('organizations_InviteMember', { invalidates: ['organizations_QueryInvitations'] })
  const form = useTextForm({
    defaultValues: { email: '' },
    validate: ({ email }) => ({ email: emailError(email) }),
    submit: async ({ email }) => {
      try {
        await invite.mutateAsync({ organizationId, email: email.trim() })
        toast(`${email.trim()} invited.`)
        onClose()
      } catch {
        // The dialog shows the error from the mutation's state.
      }
    },
  })
  return (
    <FormDialog title="Invite User" form={form} submit="Invite User" busyLabel="Inviting…" onClose={onClose}>
      <ErrorAlert title="The user was not invited." error={invite.error} />
      <form.Field name="email">
        {field => (
          <TextField
            label="Email"
            type="email"
            required
            autoCapitalize="off"
            spellCheck={false}
            {...bindText(field)}
          />
        )}
      </form.Field>
    </FormDialog>
  )
}

function emailError(email: string): string | undefined {
  if (!email.trim()) return 'Please enter an email address.'
  return isEmail(email) ? undefined : 'Please enter a valid email address.'
}

import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { bindText, useTextForm } from '../../form/form.ts'
import { counted } from '../../lib/app/format.ts'
import { localMinute } from '../../lib/app/local-time.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { TextField } from '../../ui/TextField.tsx'
import { isExport, type WebhookDetails } from './webhook.ts'

const DAY_MS = 86_400_000

type ResendDialogProps = {
  webhook: Pick<WebhookDetails, 'webhookId' | 'format' | 'failingSince'>
  onClose: () => void
}

/** Sends all messages again that could not be delivered since a time. */
export function ResendDialog({ webhook, onClose }: ResendDialogProps) {
  const { webhookId, failingSince } = webhook
  const resend = useCommand('webhooks_ResendFailed', { invalidates: ['webhooks_GetDetails'] })
  const form = useTextForm({
    defaultValues: {
      since: localMinute(failingSince === undefined ? Date.now() - DAY_MS : Date.parse(failingSince)),
    },
    validate: ({ since }) => ({
      since: Number.isNaN(Date.parse(since)) ? 'Choose a date and a time.' : undefined,
    }),
    submit: async ({ since }) => {
      try {
        const { messageCount } = await resend.mutateAsync({
          webhookId,
          since: new Date(since).toISOString(),
        })
        toast(
          messageCount === 0
            ? 'No message failed since then.'
            : `${counted(messageCount, 'message')} ${messageCount === 1 ? 'is' : 'are'} sent again.`,
        )
        onClose()
      } catch {
        // The dialog shows the error from the mutation's state.
      }
    },
  })
  return (
    <FormDialog
      title="Replay Failed Messages"
      form={form}
      submit="Send Again"
      busyLabel="Sending…"
      onClose={onClose}
    >
      <ErrorAlert title="The messages were not sent again." error={resend.error} />
      <p className="muted">
        All messages are sent again whose attempts have all failed, oldest first.{' '}
        {isExport(webhook) ? (
          'Each has a batch of events.'
        ) : (
          <>
            Receivers drop repeats by <span className="mono">webhook-id</span>.
          </>
        )}
      </p>
      <form.Field name="since">
        {field => <TextField label="Failed since" type="datetime-local" required {...bindText(field)} />}
      </form.Field>
    </FormDialog>
  )
}

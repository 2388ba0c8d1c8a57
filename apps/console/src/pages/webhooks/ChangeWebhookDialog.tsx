import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { toast } from '../../ui/app/toast.ts'
import { useWebhookForm } from './use-webhook-form.tsx'
import type { WebhookDetails } from './webhook.ts'

/** Form that changes a webhook: its name, its address and what it sends. */
export function ChangeWebhookDialog({ webhook, onClose }: { webhook: WebhookDetails; onClose: () => void }) {
  const set = useCommand('webhooks_Set', { invalidates: ['webhooks_Query', 'webhooks_GetDetails'] })
  const { webhookId, organizationId, state } = webhook
  const { form, fields } = useWebhookForm({
    organizationId,
    webhook,
    failure: 'The webhook was not changed.',
    submit: async ({ format: _format, projectId: _projectId, ...choices }) => {
      await set.mutateAsync({ webhookId, ...choices, isOn: state !== 'Off' })
      toast(`Webhook ${choices.name} changed.`)
      onClose()
    },
  })
  return (
    <FormDialog
      title="Change Webhook"
      form={form}
      submit="Save Webhook"
      busyLabel="Saving…"
      onClose={onClose}
    >
      {fields}
    </FormDialog>
  )
}

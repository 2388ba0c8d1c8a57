import { useRef, useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import { FormDialog } from '../../form/FormDialog.tsx'
import { formatMs } from '../../lib/app/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { SigningSecretDialog } from './SigningSecretDialog.tsx'
import { useWebhookForm } from './use-webhook-form.tsx'
import { type Answer, answerWords, formatWords, testSentence } from './webhook.ts'

type NewWebhookDialogProps = { organizationId: string; onClose: () => void }

/**
 * Makes a webhook after its receiver has taken a test message, or without a test, and shows the signing secret once. Formats without a
 * signature need no secret.
 */
export function NewWebhookDialog({ organizationId, onClose }: NewWebhookDialogProps) {
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [made, setMade] = useState<{ secret: string; test: Answer | undefined }>()
  const [refusal, setRefusal] = useState<Answer>()
  const isTested = useRef(true)
  const create = useCommand('webhooks_Create', { invalidates: ['webhooks_Query'] })
  const { form, fields } = useWebhookForm({
    organizationId,
    failure: 'The webhook was not created.',
    submit: async ({ url = '', ...choices }) => {
      const tests = isTested.current
      isTested.current = true
      setRefusal(undefined)
      const output = await create.mutateAsync({ organizationId, url, ...choices, isTested: tests })
      if (output.result === 'TestFailed') setRefusal(output.test)
      else if (formatWords(choices.format).isSigned)
        setMade({ secret: output.signingSecret, test: output.test })
      else {
        toast(`Webhook ${choices.name} created.`)
        onClose()
      }
    },
  })
  if (made) {
    const { secret, test } = made
    return (
      <SigningSecretDialog
        title="Webhook created"
        secret={secret}
        lead={
          test && `The test message was answered with ${answerWords(test)} after ${formatMs(test.tookMs)}.`
        }
        onClose={onClose}
      />
    )
  }
  return (
    <FormDialog
      title="New Webhook"
      form={form}
      submit="Create Webhook"
      busyLabel="Testing…"
      onClose={onClose}
    >
      {refusal && (
        <Alert tone="bad" title="The webhook was not created.">
          <p>
            {testSentence(refusal)} {refusal.answer && <bdi className="mono">{refusal.answer}</bdi>}
          </p>
          <Button
            size="sm"
            onClick={event => {
              isTested.current = false
              event.currentTarget.form?.requestSubmit()
            }}
          >
            Save without a test
          </Button>
        </Alert>
      )}
      {fields}
      <p className="help">A test message is sent first. Only an answer with 2xx makes the webhook.</p>
    </FormDialog>
  )
}

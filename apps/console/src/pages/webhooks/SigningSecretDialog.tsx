import { Alert } from '../../ui/Alert.tsx'
import { Code } from '../../ui/Code.tsx'
import { SecretDialog } from '../../ui/lazy/SecretDialog.tsx'

/** How a receiver checks a signature with the library of Standard Webhooks. */
const EXAMPLE = `import { Webhook } from 'standardwebhooks'
new Webhook(process.env.MUSTER_SECRET).verify(body, headers)`

type SigningSecretDialogProps = {
  title: string
  secret: string
  /** Text above the secret, such as the answer to the test message. */
  lead?: string | undefined
  onClose: () => void
}

/** Shows the signing secret of a webhook once, and how the receiver checks signatures. */
export function SigningSecretDialog({ title, secret, lead, onClose }: SigningSecretDialogProps) {
  return (
    <SecretDialog
      title={title}
      what="signing secret"
      token={secret}
      lead={lead && <Alert tone="ok">{lead}</Alert>}
      onClose={onClose}
    >
      <div className="field">
        <p className="label">Check in the receiver</p>
        <Code text={EXAMPLE} label="Copy example" />
      </div>
    </SecretDialog>
  )
}

import { useState } from 'react'
import { useCommand } from '../../../api/queries.ts'
import { FormDialog } from '../../../form/FormDialog.tsx'
import { dateAndMinute } from '../../../lib/app/local-time.ts'
import shared from '../../../ui/lazy/details.module.css'
import { SecretDialog } from '../../../ui/lazy/SecretDialog.tsx'
import { InstallCommand } from '../../devices/shared/InstallCommand.tsx'
import { LabelList } from '../../labels/shared/LabelList.tsx'
import { type TokenChoices, useTokenForm } from '../shared/use-token-form.tsx'
import styles from './NewTokenDialog.module.css'
import { WaitingForToken } from './WaitingForToken.tsx'

/** Creates a deployment token, then shows its secret once and waits for the first device with it. */
export function NewTokenDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  // The secret is kept in this state only, not in the query cache, and is gone when the dialog closes.
  const [created, setCreated] = useState<{ tokenId: string; token: string; choices: TokenChoices }>()
  const create = useCommand('projects_CreateDeploymentToken', {
    invalidates: ['projects_QueryDeploymentTokens'],
    onSuccess: (token, choices) => setCreated({ ...token, choices }),
  })
  const { form, fields } = useTokenForm(projectId, '', choices =>
    create.mutateAsync({ projectId, ...choices }),
  )
  if (created) {
    return (
      <SecretDialog
        title="Token created"
        token={created.token}
        facts={<Facts {...created.choices} />}
        onClose={onClose}
      >
        <div className="field">
          <p className="label">On the device</p>
          <InstallCommand>
            <p className="help">It asks for the token. Nothing is written into the history of the shell.</p>
          </InstallCommand>
        </div>
        <WaitingForToken projectId={projectId} tokenId={created.tokenId} />
      </SecretDialog>
    )
  }
  return (
    <FormDialog title="New Token" form={form} submit="Create Token" busyLabel="Creating…" onClose={onClose}>
      {fields}
    </FormDialog>
  )
}

function Facts({ name, flags, limits, labels = {} }: TokenChoices) {
  const expiresAt = limits?.expiresAt
  return (
    <dl className={`${shared.facts} ${styles.facts}`}>
      <dt>Name</dt>
      <dd>{name}</dd>
      <dt>Auto-accept</dt>
      <dd>{flags?.autoAccept ? 'On' : 'Off'}</dd>
      <dt>A certificate of its own</dt>
      <dd>{flags?.ownCertificate ? 'On' : 'Off'}</dd>
      {Object.keys(labels ?? {}).length > 0 && (
        <>
          <dt>Labels</dt>
          <dd>
            <LabelList labels={labels ?? {}} />
          </dd>
        </>
      )}
      <dt>Expires</dt>
      <dd>{expiresAt ? dateAndMinute(Date.parse(expiresAt)) : 'Never'}</dd>
    </dl>
  )
}

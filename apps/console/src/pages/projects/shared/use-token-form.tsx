import type { ActionInput } from '@muster/actions/client'
import { useStore } from '@tanstack/react-form'
import { useState } from 'react'
import { bindChecked, bindText, useTextForm } from '../../../form/form.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { CheckPanel } from '../../../ui/lazy/CheckPanel.tsx'
import { Choices } from '../../../ui/lazy/Choices.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { LabelFields } from '../../labels/shared/LabelFields.tsx'
import { draftsProblem, labelsOfDrafts, readDrafts, writeDrafts } from '../../labels/shared/label-drafts.ts'
import { EXPIRIES, type Expiry, expirySentence, expiryTimeMs } from '../tokens/token-expiry.ts'

/** Name, flags, limits and labels of a new deployment token. */
export type TokenChoices = Pick<
  ActionInput<'projects_CreateDeploymentToken'>,
  'name' | 'flags' | 'limits' | 'labels'
>

type TokenForm = {
  name: string
  autoAccept: boolean
  ownCertificate: boolean
  expiry: Expiry
  expiresOn: string
  /** In the format of `label-drafts.ts`. */
  labels: string
}

/**
 * A form for name, flags, labels and expiry of a new deployment token. `defaultName` is the initial value of the name field.
 * `fields` is an element with the fields and the error of `create`.
 */
export function useTokenForm(
  projectId: string,
  defaultName: string,
  create: (choices: TokenChoices) => Promise<unknown>,
) {
  const [failure, setFailure] = useState<unknown>()
  const defaultValues: TokenForm = {
    name: defaultName,
    autoAccept: true,
    ownCertificate: true,
    expiry: 'never',
    expiresOn: '',
    labels: '[]',
  }
  const form = useTextForm({
    defaultValues,
    validate: ({ name, expiry, expiresOn, labels }) => ({
      name: name.trim() ? undefined : 'Name must not be empty.',
      expiresOn: expiry === 'date' ? wrongDate(expiresOn) : undefined,
      labels: draftsProblem(readDrafts(labels)),
    }),
    submit: async ({ name, autoAccept, ownCertificate, expiry, expiresOn, labels: typed }) => {
      setFailure(undefined)
      const expiresAtMs = expiryTimeMs(expiry, expiresOn, Date.now())
      const limits = expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() }
      const flags = { autoAccept, ownCertificate }
      const labels = labelsOfDrafts(readDrafts(typed))
      await create({ name: name.trim(), flags, limits, labels }).catch(setFailure)
    },
  })
  const { expiry, expiresOn } = useStore(form.store, ({ values }) => values)
  const nowMs = useNow()
  const fields = (
    <>
      <ErrorAlert title="The token was not created." error={failure} />
      <form.Field name="name">
        {field => (
          <TextField
            {...bindText(field)}
            label="Name"
            required
            help="Says where its devices come from. It stands beside each device that waits for approval."
          />
        )}
      </form.Field>
      <form.Field name="autoAccept">
        {field => (
          <CheckPanel {...bindChecked(field)} label="Auto-accept">
            Devices with this token connect at once. Without it each certificate waits for a person.
          </CheckPanel>
        )}
      </form.Field>
      <form.Field name="ownCertificate">
        {field => (
          <CheckPanel {...bindChecked(field)} label="A certificate of its own">
            A new device that shows the certificate of another one waits for a person.
          </CheckPanel>
        )}
      </form.Field>
      <form.Field name="labels">
        {field => (
          <LabelFields
            projectId={projectId}
            label="Labels"
            drafts={readDrafts(field.state.value)}
            onChange={drafts => field.handleChange(writeDrafts(drafts))}
            error={bindText(field).error}
            help="New devices with this token get them, for example their site."
          />
        )}
      </form.Field>
      <form.Field name="expiry">
        {field => (
          <Choices
            label="Expires"
            name={field.name}
            value={field.state.value}
            onChange={field.handleChange}
            options={EXPIRIES}
            help={expirySentence(expiryTimeMs(expiry, expiresOn, nowMs))}
          />
        )}
      </form.Field>
      {expiry === 'date' && (
        <form.Field name="expiresOn">
          {field => <TextField {...bindText(field)} label="Date and time" type="datetime-local" required />}
        </form.Field>
      )}
    </>
  )
  return { form, fields }
}

function wrongDate(text: string): string | undefined {
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs)) return 'Choose a date and a time.'
  return atMs > Date.now() ? undefined : 'The date must be in the future.'
}

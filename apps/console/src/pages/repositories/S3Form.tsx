import { ActionError } from '@muster/actions/client'
import { useRef, useState } from 'react'
import { useAction, useCommand } from '../../api/queries.ts'
import formStyles from '../../form/form.module.css'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { toast } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { SaveBar } from '../../ui/lazy/SaveBar.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { S3TestResult } from './S3TestResult.tsx'

/** Fields of the form in order, except the secret. `name` is the name of the field in the action's input. */
const FIELDS = [
  { name: 's3Endpoint', label: 'Endpoint', required: true, help: 'For example https://s3.example.com.' },
  { name: 's3Bucket', label: 'Bucket', required: true },
  { name: 's3Region', label: 'Region', required: true },
  { name: 's3Prefix', label: 'Prefix', required: false, help: 'Put before the name of every object.' },
  { name: 's3AccessKeyId', label: 'Access key id', required: true },
] as const

type Values = Record<(typeof FIELDS)[number]['name'], string>

/** Form for the object store of a repository. The hub tests the settings before it saves them, and never returns the secret. */
export function S3Form({ repositoryId }: { repositoryId: string }) {
  const config = useAction('repositories_GetS3Config', { repositoryId })
  const save = useCommand('repositories_SetS3Config', { invalidates: ['repositories_GetS3Config'] })
  const remove = useCommand('repositories_RemoveS3Config', { invalidates: ['repositories_GetS3Config'] })
  const test = useCommand('repositories_TestS3Config')
  const [testedAt, setTestedAt] = useState(0)
  // Purpose of the submit in flight. `submit` reads it after the fields were validated.
  const mode = useRef<'save' | 'saveUntested' | 'test'>('save')
  const form = useTextForm({
    // A refetch of the settings changes only fields that the user has not edited.
    defaultValues: {
      ...(Object.fromEntries(FIELDS.map(({ name }) => [name, config[name] ?? ''])) as Values),
      s3SecretAccessKey: '',
    },
    validate: values => ({
      ...Object.fromEntries(
        FIELDS.map(({ name, label, required }) => [
          name,
          required && !values[name].trim() ? `${label} must not be empty.` : undefined,
        ]),
      ),
      s3SecretAccessKey: values.s3SecretAccessKey ? undefined : 'Secret access key must not be empty.',
    }),
    submit: async ({ s3SecretAccessKey, ...values }) => {
      const trimmed = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, value.trim()]),
      ) as typeof values
      if (mode.current === 'test') {
        await test.mutateAsync({ repositoryId, ...trimmed, s3SecretAccessKey }).catch(() => {}) // The form shows the error.
        setTestedAt(Date.now())
        return
      }
      try {
        await save.mutateAsync({
          repositoryId,
          ...trimmed,
          s3SecretAccessKey,
          ...(mode.current === 'saveUntested' && { skipTest: true }),
        })
      } catch {
        return // The form shows the error.
      }
      form.reset({ ...trimmed, s3SecretAccessKey: '' })
      toast(`S3 configuration saved${mode.current === 'saveUntested' ? ' without a test' : ''}.`)
      test.reset()
    },
  })
  const returnToHub = async () => {
    try {
      await remove.mutateAsync({ repositoryId })
    } catch {
      return // The form shows the error.
    }
    form.reset({
      ...(Object.fromEntries(FIELDS.map(({ name }) => [name, ''])) as Values),
      s3SecretAccessKey: '',
    })
    toast('New assets are stored by the hub itself.')
  }
  const submitFor = (purpose: typeof mode.current, element: HTMLFormElement | null) => {
    mode.current = purpose
    element?.requestSubmit()
  }
  // Only a test can fail with this status here, because the form always sends the secret.
  const hasFailed =
    test.data?.result === 'Failed' || (save.error instanceof ActionError && save.error.status === 409)
  return (
    <form
      noValidate
      onSubmit={event => {
        // "Test" and "Save anyway" submit by `requestSubmit()`, so their submit has no submitter. "Save" and the Enter key have one.
        if ((event.nativeEvent as SubmitEvent).submitter) mode.current = 'save'
        void submitForm(event, form)
      }}
    >
      <div className={formStyles.fields}>
        {!config.s3Endpoint && <p className="muted">Without it, the hub itself stores the assets.</p>}
        <ErrorAlert title="The S3 configuration was not saved." error={save.error} />
        <ErrorAlert title="The S3 configuration was not removed." error={remove.error} />
        <div className={`${formStyles.pair} ${formStyles.wideFirst}`}>
          {FIELDS.map(({ name, ...texts }) => (
            <form.Field key={name} name={name}>
              {field => (
                <TextField {...texts} mono spellCheck={false} autoCapitalize="off" {...bindText(field)} />
              )}
            </form.Field>
          ))}
        </div>
        <form.Field name="s3SecretAccessKey">
          {field => (
            <PasswordField
              label="Secret access key"
              required
              autoComplete="off"
              // An endpoint in the answer means that the hub stores a secret. The hub never returns the secret, so the
              // user must enter it again.
              help={config.s3Endpoint ? 'Enter the secret again to save.' : undefined}
              {...bindText(field)}
            />
          )}
        </form.Field>
        <ErrorAlert title="The S3 configuration was not tested." error={test.error} />
        {test.data && <S3TestResult test={test.data} endedAt={testedAt} />}
      </div>
      <SaveBar note="Save tests first and keeps the old settings if the test fails.">
        {config.s3Endpoint && (
          <Button busyLabel="Removing…" busy={remove.isPending} onClick={() => void returnToHub()}>
            Use the hub’s storage
          </Button>
        )}
        <Button
          busyLabel="Testing…"
          busy={test.isPending}
          onClick={event => submitFor('test', event.currentTarget.form)}
        >
          {test.data ? 'Test again' : 'Test'}
        </Button>
        {hasFailed && (
          <Button
            busyLabel="Saving…"
            busy={save.isPending}
            onClick={event => submitFor('saveUntested', event.currentTarget.form)}
          >
            Save anyway
          </Button>
        )}
        <SubmitButton form={form} busy={save.isPending} busyLabel="Saving…">
          Save
        </SubmitButton>
      </SaveBar>
    </form>
  )
}

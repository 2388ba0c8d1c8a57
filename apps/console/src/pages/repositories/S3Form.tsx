import { useAction, useCommand } from '../../api/queries.ts'
import { bindText, submitForm, useTextForm } from '../../lib/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { SubmitButton } from '../../ui/SubmitButton.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { toast } from '../../ui/toast.ts'

/** Fields of the form but the secret, in order, by the names that the hub takes. */
const FIELDS = [
  { name: 's3Endpoint', label: 'Endpoint', required: true, help: 'For example https://s3.example.com.' },
  { name: 's3Bucket', label: 'Bucket', required: true },
  { name: 's3Region', label: 'Region', required: true },
  { name: 's3Prefix', label: 'Prefix', required: false, help: 'Stands before the name of every object.' },
  { name: 's3AccessKeyId', label: 'Access key id', required: true },
] as const

type FieldName = (typeof FIELDS)[number]['name']

/** Where a repository keeps its assets. The hub tries the settings before it takes them and never tells the secret. */
export function S3Form({ repositoryId }: { repositoryId: string }) {
  const config = useAction('repositories_GetS3Config', { repositoryId })
  const save = useCommand('repositories_SetS3Config', { invalidates: ['repositories_GetS3Config'] })
  const form = useTextForm({
    // An answer that comes later changes the fields only while nobody has touched them.
    defaultValues: {
      ...(Object.fromEntries(FIELDS.map(({ name }) => [name, config[name] ?? ''])) as Record<
        FieldName,
        string
      >),
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
      try {
        await save.mutateAsync({ repositoryId, ...trimmed, s3SecretAccessKey })
      } catch {
        return // The form says why.
      }
      form.reset({ ...trimmed, s3SecretAccessKey: '' })
      toast('S3 configuration saved.')
    },
  })
  return (
    <form className="form" noValidate onSubmit={event => void submitForm(event, form)}>
      {!config.s3Endpoint && <p className="muted">Without it, assets lie in the storage of the hub.</p>}
      <ErrorAlert title="The S3 configuration was not saved." error={save.error} />
      {FIELDS.map(({ name, ...texts }) => (
        <form.Field key={name} name={name}>
          {field => (
            <TextField {...texts} mono spellCheck={false} autoCapitalize="off" {...bindText(field)} />
          )}
        </form.Field>
      ))}
      <form.Field name="s3SecretAccessKey">
        {field => (
          <PasswordField
            label="Secret access key"
            required
            autoComplete="off"
            help="Enter the secret again to save."
            {...bindText(field)}
          />
        )}
      </form.Field>
      <SubmitButton form={form} busyLabel="Saving…">
        Save
      </SubmitButton>
    </form>
  )
}

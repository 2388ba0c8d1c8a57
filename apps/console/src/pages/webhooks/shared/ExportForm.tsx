import { ActionError, MASKED_HEADER, MAX_EXPORT_HEADERS } from '@muster/actions/client'
import { useStore } from '@tanstack/react-form'
import { useState } from 'react'
import { useAction, useCommand } from '../../../api/queries.ts'
import formStyles from '../../../form/form.module.css'
import { bindChecked, bindText, submitForm, useTextForm } from '../../../form/form.ts'
import { SubmitButton } from '../../../form/SubmitButton.tsx'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { SaveBar } from '../../../ui/lazy/SaveBar.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { ExportState } from './ExportState.tsx'
import { type Header, HeaderRows } from './HeaderRows.tsx'

type ExportFormProps = { organizationId: string; projectId: string }

/**
 * Form for the export of the events of a project as OTLP, with the state of the export. Only administrators of the organization may change it.
 * The hub never returns the values of headers: a blank value keeps the stored one.
 */
export function ExportForm({ organizationId, projectId }: ExportFormProps) {
  const { config } = useAction('projects_GetOtlpConfig', { projectId })
  const save = useCommand('projects_SetOtlpConfig', {
    invalidates: ['projects_GetOtlpConfig', 'webhooks_Query', 'webhooks_GetDetails'],
  })
  const [error, setError] = useState<unknown>()
  const stored = Object.keys(config.headers)
  // A stored value stays only for the same host: otherwise a person could make the hub send it to any host.
  const isStored = (name: string, endpoint: string) =>
    isSameHost(endpoint.trim(), config.endpoint) &&
    stored.some(one => one.toLowerCase() === name.trim().toLowerCase())
  const form = useTextForm({
    // A refetch of the settings changes only fields that the user has not edited.
    defaultValues: {
      enabled: config.enabled,
      endpoint: config.endpoint ?? '',
      // A JSON array, because values of forms are texts.
      headers: written(stored),
    },
    validate: ({ endpoint, headers }) => ({
      endpoint: endpoint.trim() ? undefined : 'Address must not be empty.',
      headers: problemOf(read(headers), name => isStored(name, endpoint)),
    }),
    submit: async ({ enabled, endpoint, headers }) => {
      const wanted = read(headers).map(
        ({ name, value }) => [name.trim(), value.trim() || MASKED_HEADER] as const,
      )
      const address = endpoint.trim()
      try {
        await save.mutateAsync({
          projectId,
          config: { enabled, endpoint: address, headers: Object.fromEntries(wanted) },
        })
      } catch (failure) {
        throw byField(failure)
      }
      form.reset({ enabled, endpoint: address, headers: written(wanted.map(([name]) => name)) })
      toast(enabled ? 'Events of devices are exported.' : 'The export of events is off.')
    },
    onFailure: setError,
  })
  const endpoint = useStore(form.store, ({ values }) => values.endpoint)
  return (
    <form noValidate onSubmit={event => void submitForm(event, form)}>
      <div className={formStyles.fields}>
        {config.endpoint === undefined ? (
          <p className="muted">
            What devices report, their events, can go to a collector of OpenTelemetry as log records.
          </p>
        ) : (
          <ExportState organizationId={organizationId} projectId={projectId} />
        )}
        <ErrorAlert title="The export of events was not saved." error={error} />
        <form.Field name="enabled">
          {field => <Checkbox label="Send events to a collector" {...bindChecked(field)} />}
        </form.Field>
        <form.Field name="endpoint">
          {field => (
            <TextField
              label="Address"
              required
              mono
              inputMode="url"
              spellCheck={false}
              autoCapitalize="off"
              help="Of a collector with OTLP/HTTP, for example https://collector.example:4318. /v1/logs is appended."
              {...bindText(field)}
            />
          )}
        </form.Field>
        <form.Field name="headers">
          {field => (
            <HeaderRows
              headers={read(field.state.value)}
              isStored={name => isStored(name, endpoint)}
              isFull={read(field.state.value).length >= MAX_EXPORT_HEADERS}
              error={bindText(field).error}
              onChange={headers => field.handleChange(JSON.stringify(headers))}
            />
          )}
        </form.Field>
      </div>
      <SaveBar note="Events that are stored while it is on are sent every 5 s, at least once.">
        <SubmitButton form={form} busyLabel="Saving…">
          Save
        </SubmitButton>
      </SaveBar>
    </form>
  )
}

function read(text: string): Header[] {
  return JSON.parse(text) as Header[]
}

function written(names: readonly string[]): string {
  return JSON.stringify(names.map((name): Header => ({ name, value: '' })))
}

/** Whether an address has the host of the stored one. True for an invalid address, which the hub refuses anyway. */
function isSameHost(endpoint: string, stored: string | undefined): boolean {
  if (stored === undefined || !URL.canParse(endpoint) || !URL.canParse(stored)) return true
  return new URL(endpoint).host === new URL(stored).host
}

/** Problem of the first invalid header, as a sentence; undefined if all are valid. */
function problemOf(headers: readonly Header[], isStored: (name: string) => boolean): string | undefined {
  const names = headers.map(({ name }) => name.trim().toLowerCase())
  if (names.includes('')) return 'A header has no name.'
  const twice = names.findIndex((name, index) => names.indexOf(name) < index)
  if (twice >= 0) return `The header ${headers[twice]!.name.trim()} stands twice.`
  const blank = headers.find(({ name, value }) => !value.trim() && !isStored(name))
  return blank && `The header ${blank.name.trim()} has no value.`
}

/** The error of the hub with the names of the form's fields as paths. */
function byField(error: unknown): unknown {
  if (!(error instanceof ActionError) || !error.issues) return error
  const { kind, message, status, requestId } = error
  const issues = error.issues.map(issue => ({
    ...issue,
    path: issue.path.replace(/^config\.(headers\b.*|endpoint$)/, (_, rest: string) =>
      rest.startsWith('headers') ? 'headers' : rest,
    ),
  }))
  return new ActionError(kind, message, {
    status,
    issues,
    cause: error,
    ...(requestId !== undefined && { requestId }),
  })
}

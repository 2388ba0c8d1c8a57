import { MAX_NAME_LENGTH } from '@muster/actions/client'
import { useStore } from '@tanstack/react-form'
import { useState } from 'react'
import { bindText, useTextForm } from '../../form/form.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { SelectField } from '../../ui/lazy/SelectField.tsx'
import { TextAreaField } from '../../ui/lazy/TextAreaField.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { ProjectField } from './ProjectField.tsx'
import { TypesField } from './TypesField.tsx'
import { type ChosenFormat, FORMATS, formatWords, type WebhookDetails } from './webhook.ts'

/** Values of the form as actions take them. A value that a person left blank is absent. */
type WebhookChoices = {
  name: string
  format: ChosenFormat
  url?: string
  credential?: string
  room?: string
  template?: string
  types?: string[]
  projectId?: string
}

const FORMAT_OPTIONS = (Object.keys(FORMATS) as ChosenFormat[]).map(value => ({
  value,
  label: FORMATS[value].label,
}))
const TEMPLATE = '{"text": "{{title}}", "link": "{{link}}"}'
const TEMPLATE_HELP =
  'JSON. In its texts {{id}}, {{type}}, {{timestamp}}, {{title}}, {{link}} and {{data.data.name}} stand for values.'

type WebhookFormOptions = {
  organizationId: string
  /** The webhook that the form changes; absent for a new one. Its format, its project and its stored secrets stay. */
  webhook?: WebhookDetails
  /** Title of the message with an error of `submit`. */
  failure: string
  submit: (choices: WebhookChoices) => Promise<unknown>
}

/** Form for a webhook. `fields` is an element with the fields and the error of `submit`. */
export function useWebhookForm({ organizationId, webhook, failure, submit }: WebhookFormOptions) {
  const [error, setError] = useState<unknown>()
  const form = useTextForm({
    defaultValues: {
      name: webhook?.name ?? '',
      // The settings of an export have a form of their own.
      format: (webhook?.format ?? 'standard') as ChosenFormat,
      url: '',
      credential: '',
      room: webhook?.room ?? '',
      template: webhook?.template ?? TEMPLATE,
      // A JSON array, because values of forms are texts.
      types: JSON.stringify(webhook?.types ?? []),
      projectId: '',
      project: '',
    },
    validate: values => {
      const { needsCredential = false, credential } = formatWords(values.format)
      return {
        name: values.name.trim() ? undefined : 'Name must not be empty.',
        url: webhook || values.url.trim() ? undefined : 'Address must not be empty.',
        credential:
          !webhook && needsCredential && !values.credential.trim()
            ? `${credential} must not be empty.`
            : undefined,
        room: values.format === 'matrix' && !values.room.trim() ? 'Room must not be empty.' : undefined,
        template: values.format === 'custom' && !isJson(values.template) ? 'Expected JSON.' : undefined,
        projectId:
          values.project.trim() && !values.projectId
            ? 'Choose a project of the list, or leave the field blank.'
            : undefined,
      }
    },
    submit: async values => {
      const { format, name } = values
      const types = readTypes(values.types)
      const [url, credential, room] = [values.url.trim(), values.credential.trim(), values.room.trim()]
      await submit({
        name: name.trim(),
        format,
        ...(url && { url }),
        ...(credential && formatWords(format).credential && { credential }),
        ...(format === 'matrix' && { room }),
        ...(format === 'custom' && { template: values.template }),
        ...(types.length > 0 && { types }),
        ...(values.projectId && { projectId: values.projectId }),
      })
    },
    onFailure: setError,
  })
  const format = useStore(form.store, ({ values }) => values.format)
  const words = formatWords(format)
  const fields = (
    <>
      <ErrorAlert title={failure} error={error} />
      <form.Field name="name">
        {field => <TextField label="Name" required maxLength={MAX_NAME_LENGTH} {...bindText(field)} />}
      </form.Field>
      {!webhook && (
        <form.Field name="format">
          {field => <SelectField label="Format" required options={FORMAT_OPTIONS} {...bindText(field)} />}
        </form.Field>
      )}
      <form.Field name="url">
        {field => (
          <TextField
            label={webhook ? 'New address' : 'Address'}
            required={!webhook}
            mono
            inputMode="url"
            spellCheck={false}
            autoCapitalize="off"
            help={
              webhook
                ? 'Blank: the address stays. The former address gets webhook.deleted once.'
                : words.address
            }
            {...bindText(field)}
          />
        )}
      </form.Field>
      {words.credential && (
        <form.Field name="credential">
          {field => (
            <PasswordField
              label={words.credential!}
              required={!webhook && words.needsCredential === true}
              autoComplete="off"
              help={webhook ? 'Blank: it stays, unless the address is of another host.' : undefined}
              {...bindText(field)}
            />
          )}
        </form.Field>
      )}
      {format === 'matrix' && (
        <form.Field name="room">
          {field => (
            <TextField
              label="Room"
              required
              mono
              spellCheck={false}
              autoCapitalize="off"
              placeholder="!id:server"
              {...bindText(field)}
            />
          )}
        </form.Field>
      )}
      {format === 'custom' && (
        <form.Field name="template">
          {field => <TextAreaField label="Template" help={TEMPLATE_HELP} {...bindText(field)} />}
        </form.Field>
      )}
      <form.Field name="types">
        {field => (
          <TypesField
            types={readTypes(field.state.value)}
            onChange={types => field.handleChange(JSON.stringify(types))}
            error={bindText(field).error}
          />
        )}
      </form.Field>
      {!webhook && (
        <form.Field name="project">
          {text => (
            <form.Field name="projectId">
              {field => (
                <ProjectField
                  organizationId={organizationId}
                  text={text.state.value}
                  error={bindText(field).error}
                  onChange={(name, projectId) => {
                    text.handleChange(name)
                    field.handleChange(projectId)
                  }}
                />
              )}
            </form.Field>
          )}
        </form.Field>
      )}
    </>
  )
  return { form, fields }
}

function readTypes(text: string): string[] {
  return JSON.parse(text) as string[]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

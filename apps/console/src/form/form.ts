import { revalidateLogic, useForm } from '@tanstack/react-form'
import { type FormEvent, useRef } from 'react'
import { fieldRefusals } from '../lib/field-refusals.ts'
import { focusInvalid } from '../lib/focus-invalid.ts'

type FormValues = Record<string, string | boolean>
type Errors<Values> = { [Field in keyof Values]?: string | undefined }

type FormOptions<Values extends FormValues> = {
  defaultValues: Values
  /** Returns error texts by field. Called at submit and, after a failed submit, at each change. */
  validate?: (values: Values) => Errors<Values>
  /** Sends the values. If it rejects with validation issues that all concern fields of this form, each field shows its own issue. */
  submit: (values: Values) => Promise<void>
  /** Called with every other error of `submit`, and with `undefined` before each submit. */
  onFailure?: (error: unknown) => void
}

/** A form that validates at submit. After a failed submit its button is disabled until the fields are valid. */
export function useTextForm<Values extends FormValues>({
  defaultValues,
  validate = () => ({}),
  submit,
  onFailure,
}: FormOptions<Values>) {
  // The hub's messages by field. A message is shown as long as the field has the rejected value.
  const refusals = useRef(new Map<string, { value: unknown; text: string }>())
  const refused = (values: Values) =>
    [...refusals.current].flatMap(([name, { value, text }]) => (values[name] === value ? [[name, text]] : []))
  return useForm({
    defaultValues,
    validationLogic: revalidateLogic({ mode: 'submit', modeAfterSubmission: 'change' }),
    validators: {
      onDynamic: ({ value }) => {
        const problems = Object.entries(validate(value)).filter(([, text]) => text)
        const fields = Object.fromEntries([...refused(value), ...problems])
        return Object.keys(fields).length > 0 ? { fields } : undefined
      },
    },
    onSubmit: async ({ value, formApi }) => {
      onFailure?.(undefined)
      try {
        await submit(value)
      } catch (error) {
        const found = fieldRefusals(error, Object.keys(value))
        if (!found) {
          if (!onFailure) throw error
          onFailure(error)
          return
        }
        for (const [name, text] of found) refusals.current.set(name, { value: value[name], text })
        await formApi.validate('change')
      }
    },
  })
}

type FieldApi<Value> = {
  name: string
  state: { value: Value; meta: { errors: readonly unknown[] } }
  handleChange: (value: Value) => void
  handleBlur: () => void
}

/** Props that bind a text input to a form field. */
export function bindText<Text extends string>(field: FieldApi<Text>) {
  return {
    name: field.name,
    value: field.state.value,
    onChange: (value: Text) => field.handleChange(value),
    onBlur: field.handleBlur,
    error: firstError(field),
  }
}

/** Props that bind a checkbox to a form field. */
export function bindChecked(field: FieldApi<boolean>) {
  return {
    name: field.name,
    checked: field.state.value,
    onChange: (checked: boolean) => field.handleChange(checked),
    onBlur: field.handleBlur,
    error: firstError(field),
  }
}

function firstError({ state }: { state: { meta: { errors: readonly unknown[] } } }): string | undefined {
  return state.meta.errors.find(error => typeof error === 'string')
}

/** Submits a form and moves the focus to the first invalid field. */
export async function submitForm(
  event: FormEvent<HTMLFormElement>,
  form: { handleSubmit: () => Promise<void> },
) {
  event.preventDefault()
  const element = event.currentTarget
  await form.handleSubmit()
  focusInvalid(element)
}

import { revalidateLogic, useForm } from '@tanstack/react-form'
import type { FormEvent } from 'react'

type FormValues = Record<string, string | boolean>
type Errors<Values> = { [Field in keyof Values]?: string | undefined }

type FormOptions<Values extends FormValues> = {
  defaultValues: Values
  /** Error texts by field, for values as they are now; asked at submit and, after a failed one, at each change. */
  validate?: (values: Values) => Errors<Values>
  submit: (values: Values) => Promise<void>
}

/** A form that shows its errors at submit, then keeps its button disabled until they are mended. */
export function useTextForm<Values extends FormValues>({
  defaultValues,
  validate = () => ({}),
  submit,
}: FormOptions<Values>) {
  return useForm({
    defaultValues,
    validationLogic: revalidateLogic({ mode: 'submit', modeAfterSubmission: 'change' }),
    validators: {
      onDynamic: ({ value }) => {
        const fields = Object.fromEntries(Object.entries(validate(value)).filter(([, text]) => text))
        return Object.keys(fields).length > 0 ? { fields } : undefined
      },
    },
    onSubmit: ({ value }) => submit(value),
  })
}

type FieldApi<Value> = {
  name: string
  state: { value: Value; meta: { errors: readonly unknown[] } }
  handleChange: (value: Value) => void
  handleBlur: () => void
}

/** What a text field needs of a form's field. */
export function bindText<Text extends string>(field: FieldApi<Text>) {
  return {
    name: field.name,
    value: field.state.value,
    onChange: (value: Text) => field.handleChange(value),
    onBlur: field.handleBlur,
    error: firstError(field),
  }
}

/** What a checkbox needs of a form's field. */
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

/** Submits a form and moves the focus to the first field that is wrong. */
export async function submitForm(
  event: FormEvent<HTMLFormElement>,
  form: { handleSubmit: () => Promise<void> },
) {
  event.preventDefault()
  const element = event.currentTarget
  await form.handleSubmit()
  requestAnimationFrame(() => element.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}

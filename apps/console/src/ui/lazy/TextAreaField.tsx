import { type ReactNode, useId } from 'react'
import { describedBy, Field } from '../Field.tsx'

type TextAreaFieldProps = {
  name: string
  label: string
  value: string
  onChange: (value: string) => void
  onBlur: () => void
  help: ReactNode
  error?: string | undefined
}

/** A required text of several lines with its label, in the monospace font, for example JSON. */
export function TextAreaField({ name, label, value, onChange, onBlur, help, error }: TextAreaFieldProps) {
  const id = useId()
  return (
    <Field id={id} label={label} required help={help} error={error}>
      <textarea
        {...describedBy(id, help, error)}
        id={id}
        name={name}
        className="input mono"
        rows={4}
        spellCheck={false}
        autoComplete="off"
        aria-required
        value={value}
        onBlur={onBlur}
        onChange={event => onChange(event.target.value)}
      />
    </Field>
  )
}

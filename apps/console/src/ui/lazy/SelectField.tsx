import { useId } from 'react'
import { describedBy, Field } from '../Field.tsx'

type SelectFieldProps<T extends string> = {
  label: string
  name: string
  value: T
  options: readonly { value: T; label: string }[]
  onChange: (value: T) => void
  onBlur: () => void
  required?: boolean
  error?: string | undefined
}

/** A select field of a form, with its label. */
export function SelectField<T extends string>({
  label,
  options,
  onChange,
  required,
  error,
  ...rest
}: SelectFieldProps<T>) {
  const id = useId()
  return (
    <Field id={id} label={label} required={required} error={error}>
      <select
        {...rest}
        {...describedBy(id, undefined, error)}
        id={id}
        className="input"
        aria-required={required}
        // The cast is safe, because the value is one of the options.
        onChange={event => onChange(event.target.value as T)}
      >
        {options.map(option => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Field>
  )
}

import { type ReactNode, useId } from 'react'
import { describedBy, FieldError } from './Field.tsx'

type CheckboxProps = {
  label: ReactNode
  name?: string
  checked: boolean
  onChange: (checked: boolean) => void
  onBlur?: () => void
  required?: boolean
  error?: string | undefined
}

/** A checkbox. Its label is part of the click target. */
export function Checkbox({ label, checked, onChange, required = false, error, ...rest }: CheckboxProps) {
  const id = useId()
  return (
    <div className="field">
      <label className="check">
        <input
          {...rest}
          {...describedBy(id, undefined, error)}
          id={id}
          type="checkbox"
          checked={checked}
          aria-required={required}
          onChange={event => onChange(event.target.checked)}
        />
        <span>
          {label} <small>{required ? '(required)' : '(optional)'}</small>
        </span>
      </label>
      <FieldError id={id} error={error} />
    </div>
  )
}

import { type ReactNode, useId } from 'react'
import { describedBy } from '../Field.tsx'
import styles from './Choices.module.css'

type ChoicesProps<T extends string> = {
  label: string
  name: string
  value: T
  options: readonly { value: T; label: string }[]
  onChange: (value: T) => void
  help?: ReactNode
  required?: boolean
}

/** A field of a form with a few options side by side, of which one is chosen. */
export function Choices<T extends string>({
  label,
  name,
  value,
  options,
  onChange,
  help,
  required = false,
}: ChoicesProps<T>) {
  const id = useId()
  return (
    <fieldset className={`field ${styles.choices}`} {...describedBy(id, help, undefined)}>
      <legend className="label">
        {label} <small>{required ? '(required)' : '(optional)'}</small>
      </legend>
      <div>
        {options.map(option => (
          <label key={option.value}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </div>
      {help && (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </fieldset>
  )
}
